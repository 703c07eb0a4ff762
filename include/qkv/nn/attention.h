// The attention modules, with the parameter names that PyTorch users give them:
// a state_dict saved as safetensors loads with no renaming. All are short faces
// over the operation in qkv/attention.h; mask, dropout and whether weights are
// returned are its options. The default mask is none. Constructors throw where
// a size is below 1, forward where shapes do not fit, naming module and shapes.
// (Vaswani et al. 2017; weights start as PyTorch's linear layers do.)
#pragma once

#include <cstdint>

#include "qkv/attention.h"
#include "qkv/export.h"
#include "qkv/nn/layers.h"
#include "qkv/nn/module.h"

namespace qkv::nn {

// One head: linears query, key and value, (D,D) with bias; no projection of the
// output. x (B,T,D) -> output (B,T,D), weights (B,T,T); scale 1/√D.
class QKV_API SelfAttention : public Module {
 public:
  explicit SelfAttention(std::int64_t embed_dim);
  AttentionResult forward(const Tensor& x,
                          const AttentionOptions& options = {}) const;

  Linear query, key, value;
};

// num_heads heads: a linear qkv (3D,D), read as (3,H,d), and a linear out_proj
// (D,D), both with bias. x (B,T,D) -> output (B,T,D), weights (B,H,T,T); scale
// 1/√d, d = D/H. Throws when num_heads does not divide embed_dim.
class QKV_API MultiHeadSelfAttention : public Module {
 public:
  MultiHeadSelfAttention(std::int64_t embed_dim, std::int64_t num_heads);
  AttentionResult forward(const Tensor& x,
                          const AttentionOptions& options = {}) const;

  const std::int64_t num_heads;
  Linear qkv, out_proj;
};

// Queries from one sequence, keys and values from another: linears query (D,D),
// kv (2D,kv_dim), read as (2,H,d), and out_proj (D,D), all with bias.
// x (B,T,D), memory (B,S,kv_dim) -> output (B,T,D), weights (B,H,T,S).
class QKV_API CrossAttention : public Module {
 public:
  CrossAttention(std::int64_t embed_dim, std::int64_t num_heads);
  CrossAttention(std::int64_t embed_dim, std::int64_t num_heads,
                 std::int64_t kv_dim);
  AttentionResult forward(const Tensor& x, const Tensor& memory,
                          const AttentionOptions& options = {}) const;

  const std::int64_t num_heads;
  Linear query, kv, out_proj;
};

}  // namespace qkv::nn
