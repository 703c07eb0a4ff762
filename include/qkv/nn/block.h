// A transformer block, the norms before what they serve (Radford et al. 2019).
#pragma once

#include <cstdint>

#include "qkv/nn/attention.h"

namespace qkv::nn {

// x <- x + attn(ln1(x)), then x <- x + ff(ln2(x)); ff is a linear D -> F
// (ff.0), ReLU and a linear F -> D (ff.2). x (B,T,D) -> output (B,T,D), and
// attn's weights (B,H,T,T) where wanted.
class QKV_API TinyGPTBlock : public Module {
 public:
  TinyGPTBlock(std::int64_t embed_dim, std::int64_t num_heads,
               std::int64_t ff_hidden);
  AttentionResult forward(const Tensor& x,
                          const AttentionOptions& options = {}) const;

  struct QKV_API FeedForward : Module {
    FeedForward(std::int64_t width, std::int64_t hidden);
    Linear in, out;  // "0" and "2"
  };

  LayerNorm ln1;
  MultiHeadSelfAttention attn;
  LayerNorm ln2;
  FeedForward ff;
};

}  // namespace qkv::nn
