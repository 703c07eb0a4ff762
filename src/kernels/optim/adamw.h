// One step of AdamW (Loshchilov & Hutter 2019), in PyTorch's order.
#pragma once

#include <cmath>
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

// What a step multiplies by, worked out in double.
template <class T>
struct AdamWFactors {
  explicit AdamWFactors(const AdamWStep& s)
      : grad_scale(static_cast<T>(s.grad_scale)),
        keep(static_cast<T>(1 - s.lr * s.weight_decay)),
        one_minus_beta1(static_cast<T>(1 - s.beta1)),
        beta2(static_cast<T>(s.beta2)),
        one_minus_beta2(static_cast<T>(1 - s.beta2)) {
    const auto steps = static_cast<double>(s.step);
    rate = static_cast<T>(s.lr / (1 - std::pow(s.beta1, steps)));
    inverse_root = static_cast<T>(1 / std::sqrt(1 - std::pow(s.beta2, steps)));
    eps = static_cast<T>(s.eps);
  }

  T grad_scale, keep, one_minus_beta1, beta2, one_minus_beta2, rate,
      inverse_root, eps;
};

}  // namespace qkv::kernels
