// Self-attention of a model that somebody may look into.
#pragma once

#include "qkv/attention.h"
#include "qkv/tap.h"

namespace qkv {

// (B,H,T,d) -> (B,T,H·d).
Tensor join_heads(const Tensor& x);

// qkv (B,T,3·D) -> (B,T,D). Offers "attn.weights" of the layer to the tap;
// where it gives others back, they take their place, dropout included.
Tensor tapped_self_attention(const Tensor& qkv, std::int64_t heads,
                             AttentionOptions options, int layer,
                             const Context& context);

}  // namespace qkv
