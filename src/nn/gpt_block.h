// A GPT's block with nanoGPT's parameter names:
// x <- x + attn(ln_1(x)); x <- x + mlp(ln_2(x)).
#pragma once

#include "core/pool.h"
#include "qkv/model.h"
#include "qkv/nn/layers.h"

namespace qkv::nn {

// The keys and values of one layer for every slot: (slots, block, 2, H, d).
struct LayerCache {
  Tensor keys_values;
};

// What a block needs to know of cached generation.
struct CacheView {
  LayerCache* layer = nullptr;
  std::span<const int> slots;             // row b continues slots[b]
  std::span<const std::int64_t> lengths;  // of the slots, before this call
};

class GptAttention : public Module {
 public:
  explicit GptAttention(const GptConfig& config);
  // x (B,T,D) -> (B,T,D), without the residual.
  Tensor forward(const Tensor& x, int layer, const CacheView& cache,
                 Context& context);

 private:
  Tensor attend(const Tensor& qkv, int layer, Context& context);
  Tensor attend_cached(const Tensor& qkv, const CacheView& cache);

  std::int64_t heads_;
  double dropout_;
  Linear c_attn_, c_proj_;
  Dropout resid_dropout_;
};

class GptMlp : public Module {
 public:
  explicit GptMlp(const GptConfig& config);
  Tensor forward(const Tensor& x, int layer, Context& context);

 private:
  Activation activation_;
  Linear c_fc_, c_proj_;
  Dropout dropout_;
};

class GptBlock : public Module {
 public:
  explicit GptBlock(const GptConfig& config);
  Tensor forward(const Tensor& x, int layer, const CacheView& cache,
                 Context& context);

 private:
  LayerNorm ln_1_;
  GptAttention attn_;
  LayerNorm ln_2_;
  GptMlp mlp_;
};

}  // namespace qkv::nn
