// A linear layer as a model calls it.
#pragma once

#include "ops/linear.h"
#include "qkv/ops.h"
#include "qkv/tap.h"

namespace qkv::nn {

// Below this many new tokens a sequence, generation multiplies row by row: a
// GEMM's bits depend on how many rows it has, and the same request must give
// the same text whoever shares the forward pass.
inline constexpr std::int64_t kFewTokens = 16;

// x (B,T,in) -> (B,T,out).
inline Tensor linear_in(const Context& context, const Tensor& x,
                        const Tensor& weight, const Tensor& bias) {
  if (context.state && x.dim(-2) < kFewTokens)
    return linear_by_rows(x, weight, bias);
  return linear(x, weight, bias);
}

}  // namespace qkv::nn
