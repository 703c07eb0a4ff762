// Functions of one number, element by element, and their derivatives.
#pragma once

#include <cstdint>

namespace qkv::kernels {

enum class Activation {
  relu,
  gelu_tanh,  // x/2·(1 + tanh(√(2/π)(x + 0.044715 x³)))
  gelu_erf,   // x/2·(1 + erf(x/√2))
  tanh,
  sigmoid,
  exp,
  log,
};

// What activation_backward reads: y for tanh, sigmoid and exp, else x.
bool saves_output(Activation kind);

// y = f(x); y may be x. NaN stays NaN.
template <class T>
void activation(Activation kind, const T* x, std::int64_t n, T* y);

// dx = f'(x)·dy, `saved` being x or y by saves_output; dx may be dy. ReLU's
// derivative at 0 is 0. Where x is saved (relu and both gelu), f(x) costs
// little more: to y, unless that is null, the bits that activation gives.
template <class T>
void activation_backward(Activation kind, const T* saved, const T* dy,
                         std::int64_t n, T* dx, T* y = nullptr);

}  // namespace qkv::kernels
