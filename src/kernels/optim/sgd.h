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

}  // namespace qkv::kernels
