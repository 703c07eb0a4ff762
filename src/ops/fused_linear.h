// A linear layer together with what stands around it in a transformer's block,
// as one operation. Rows pass through all of it a few at a time, while they are
// in cache, in one parallel region; what the product reads is not kept, but
// made again in backward. Forward gives the bits of the operations it stands
// for.
#pragma once

#include <cstdint>

#include "kernels/activation/activation.h"
#include "qkv/rng.h"
#include "qkv/tensor.h"

namespace qkv {

// weight (out,in), bias (out) or undefined.
struct LinearWeights {
  Tensor weight, bias;
};
// weight, bias (in), bias or both may be undefined.
struct NormWeights {
  Tensor weight, bias;
  double eps = 1e-5;
};
struct DropoutDraw {
  double p = 0;  // [0, 1); 0: none
  StepRng rng;
  std::uint64_t stream = 0;
};

// linear(layer_norm(x)): x (…,in) -> (…,out).
Tensor norm_linear(const Tensor& x, const NormWeights& norm,
                   const LinearWeights& linear);

// residual + dropout(linear(x)): x (…,in), residual (…,out) -> (…,out).
Tensor linear_residual(const Tensor& x, const LinearWeights& linear,
                       const DropoutDraw& dropout, const Tensor& residual);

// residual + dropout(linear(f(x))), f one whose backward reads its input (relu,
// gelu_tanh, gelu_erf).
Tensor activation_linear_residual(kernels::Activation f, const Tensor& x,
                                  const LinearWeights& linear,
                                  const DropoutDraw& dropout,
                                  const Tensor& residual);

}  // namespace qkv
