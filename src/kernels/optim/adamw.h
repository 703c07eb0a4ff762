// One step of AdamW (Loshchilov & Hutter 2019), in PyTorch's order.
#pragma once

#include <cstdint>

namespace qkv::kernels {

struct AdamWStep {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  std::int64_t step = 1;  // 1 at the first update: the bias corrections' power
  double grad_scale = 1;  // multiplies the gradient first (clipping)
};

// For each of n elements, with g = grad_scale·grad:
// w *= 1 - lr·weight_decay; m += (1-β1)(g - m); v = β2·v + (1-β2)·g·g;
// w -= lr/(1-β1^step) · m / (√v / √(1-β2^step) + eps).
template <class T>
void adamw(const AdamWStep& s, const T* grad, std::int64_t n, T* w, T* m, T* v);

}  // namespace qkv::kernels
