// The bag of words: every position takes the plain mean of what came before. It
// is attention with all scores alike, so it cannot choose.
#include "models/context_model.h"
#include "nn/group.h"
#include "qkv/attention.h"

namespace qkv {
namespace {

struct BowConfig {
  static constexpr std::string_view kind = "bow";
  std::int64_t vocab_size = 0;
  std::int64_t block_size = 64;
  std::int64_t n_embd = 64;
  std::int64_t n_hidden = 64;
};

template <class Visitor>
void visit_fields(Visitor&& visit, BowConfig& c) {
  visit_sequence(visit, c);
  visit(c.n_embd, Field{"n_embd", "width of an embedding", 1, kMost});
  visit(c.n_hidden, Field{"n_hidden", "width of the hidden layer", 1, kMost});
}

// x (B,T,D) -> (B,T,D): at t the mean of positions 0 to t.
Tensor causal_mean(const Tensor& x) {
  const std::int64_t batch = x.dim(0), length = x.dim(1), width = x.dim(2);
  const Tensor alike = Tensor::zeros({batch, 1, length, width}, x.dtype());
  const Tensor mean =
      attention(alike, alike, reshape(x, {batch, 1, length, width}),
                {.mask = Mask::causal()})
          .output;
  return reshape(mean, {batch, length, width});
}

// x + mean, then x + a small MLP of it: as makemore's block.
struct BowBlock : nn::Module {
  BowBlock(std::int64_t width, std::int64_t hidden)
      : c_fc(width, hidden), c_proj(hidden, width) {
    mlp.add("c_fc", c_fc);
    mlp.add("c_proj", c_proj);
    add_module("mlp", mlp);
  }
  Tensor forward(Tensor x) const {
    x = add(x, causal_mean(x));
    return add(x, c_proj.forward(tanh(c_fc.forward(x))));
  }

  nn::Linear c_fc, c_proj;
  nn::Group mlp;
};

class Bow final : public ContextModel<BowConfig, Bow> {
 public:
  explicit Bow(const BowConfig& config)
      : ContextModel(config),
        wte_(config.vocab_size, config.n_embd),
        wpe_(config.block_size, config.n_embd),
        block_(config.n_embd, config.n_hidden),
        lm_head_(config.n_embd, config.vocab_size) {
    add_module("wte", wte_);
    add_module("wpe", wpe_);
    add_module("context_block", block_);
    add_module("lm_head", lm_head_);
    set_head(lm_head_);
  }
  std::int64_t matmul_parameters() const override {
    return config_.n_embd * (2 * config_.n_hidden + config_.vocab_size);
  }

 protected:
  Tensor trunk(const Tensor& ids, std::int64_t count, Context&) override {
    const std::int64_t length = ids.dim(1);
    const Tensor x = block_.forward(
        add(wte_.forward(ids), slice(wpe_.weight, 0, 0, length)));
    return slice(x, 1, length - count, length);
  }

 private:
  nn::Embedding wte_, wpe_;
  BowBlock block_;
  nn::Linear lm_head_;
};

const RegisterModel kBow(
    Bow::described("bag of words: the mean of all that came before"));

}  // namespace
}  // namespace qkv
