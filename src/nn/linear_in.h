// A linear layer as a model calls it.
#pragma once

#include "ops/linear.h"
#include "qkv/ops.h"
#include "qkv/tap.h"

namespace qkv::nn {

// x (…,in), of `tokens` tokens a sequence -> (…,out). In generation a token
// that comes alone is multiplied row by row: a GEMM, which copies the weight
// first, takes up to twice as long over one row. The two add in different
// orders, and the same request must give the same text whoever shares the
// forward pass: so the choice never looks at how many sequences there are.
inline Tensor linear_in(const Context& context, std::int64_t tokens,
                        const Tensor& x, const Tensor& weight,
                        const Tensor& bias) {
  if (context.state && tokens == 1) return linear_by_rows(x, weight, bias);
  return linear(x, weight, bias);
}

}  // namespace qkv::nn
