// A GPT's block with nanoGPT's parameter names:
// x <- x + attn(ln_1(x)); x <- x + mlp(ln_2(x)).
#pragma once

#include "core/pool.h"
#include "qkv/model.h"
#include "qkv/nn/layers.h"

namespace qkv {

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

class GptAttention : public nn::Module {
 public:
  explicit GptAttention(const GptConfig& config);
  // x (B,T,D) -> x + attention(norm(x)).
  Tensor forward(const Tensor& x, const nn::LayerNorm& norm, int layer,
                 const CacheView& cache, Context& context);

 private:
  Tensor attend(const Tensor& qkv, int layer, Context& context);
  Tensor attend_cached(const Tensor& qkv, const CacheView& cache);

  std::int64_t heads_;
  double dropout_;
  nn::Linear c_attn_, c_proj_;
  nn::Dropout resid_dropout_;
};

class GptMlp : public nn::Module {
 public:
  explicit GptMlp(const GptConfig& config);
  // x (B,T,D) -> x + linear(activation(linear(norm(x)))).
  Tensor forward(const Tensor& x, const nn::LayerNorm& norm, int layer,
                 Context& context);

 private:
  Activation activation_;
  nn::Linear c_fc_, c_proj_;
  nn::Dropout dropout_;
};

class GptBlock : public nn::Module {
 public:
  explicit GptBlock(const GptConfig& config);
  Tensor forward(const Tensor& x, int layer, const CacheView& cache,
                 Context& context);

 private:
  nn::LayerNorm ln_1_;
  GptAttention attn_;
  nn::LayerNorm ln_2_;
  GptMlp mlp_;
};

}  // namespace qkv
