// One step of stochastic gradient descent with momentum, PyTorch's form.
#pragma once

#include <cstdint>

namespace qkv::kernels {

struct SgdStep {
  double lr = 1e-2, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
  bool first = false;     // the momentum holds nothing yet
  double grad_scale = 1;  // multiplies the gradient first (clipping)
};

// For each of n elements, with g = grad_scale·grad + weight_decay·w:
// buffer = momentum·buffer + (1-dampening)·g (g itself at the first step);
// w -= lr · (buffer, or g + momentum·buffer with nesterov).
// buffer may be null when momentum is 0: then w -= lr·g.
template <class T>
void sgd(const SgdStep& s, const T* grad, std::int64_t n, T* w, T* buffer);

// What a step multiplies by, in the type it computes in.
template <class T>
struct SgdFactors {
  explicit SgdFactors(const SgdStep& s)
      : lr(static_cast<T>(s.lr)),
        momentum(static_cast<T>(s.momentum)),
        share(static_cast<T>(1 - s.dampening)),
        decay(static_cast<T>(s.weight_decay)),
        grad_scale(static_cast<T>(s.grad_scale)),
        nesterov(s.nesterov),
        first(s.first) {}

  T lr, momentum, share, decay, grad_scale;
  bool nesterov, first;
};

}  // namespace qkv::kernels
