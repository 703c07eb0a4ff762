// A small transformer whose parts can be left out, for experiments that ask
// what each is for: positions, the mask, residuals, and norms before the part
// or after the sum. The library's GPT has all of them and no such switches, its
// `heads` those that the lecture turns on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cli/lab/small_training.h"
#include "qkv/nn/attention.h"

namespace qkv::cli::lab {

enum class Norm { none, before, after };  // of each part's input; of the sum

struct SmallTransformerOptions {
  std::int64_t vocab_size = 0, length = 0;
  std::int64_t width = 32, heads = 4, layers = 2;
  bool residual = true;  // x + part(x) instead of part(x)
  Norm norm = Norm::before;
  bool positions = true;  // a learned embedding of each
  Mask mask = Mask::causal();
};

class SmallTransformer : public nn::Module {
 public:
  // Weights begin as PyTorch's, drawn from the seed.
  SmallTransformer(const SmallTransformerOptions& options, std::uint64_t seed);

  // ids (B,T) i64, T at most `length` -> (B,T,V).
  Tensor logits(const Tensor& ids) const;
  // Norm of the gradients of a block's weights, which backward() left.
  double gradient_of_block(std::int64_t layer) const;

 private:
  struct Block : nn::Module {
    Block(std::int64_t width, std::int64_t heads);
    nn::LayerNorm ln_1, ln_2;
    nn::MultiHeadSelfAttention attn;
    nn::Linear in, out;
  };
  template <class Part>
  Tensor through(const Tensor& x, const nn::LayerNorm& norm,
                 const Part& part) const;

  const SmallTransformerOptions options_;
  std::unique_ptr<nn::Embedding> tokens_, positions_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<nn::LayerNorm> last_norm_;
  std::unique_ptr<nn::Linear> head_;
};

Learner learner(const SmallTransformer& net);

}  // namespace qkv::cli::lab
