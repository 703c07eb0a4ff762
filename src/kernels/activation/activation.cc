#include "kernels/activation/activation.h"

#include <cmath>
#include <numbers>

#include "kernels/cut.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

constexpr double kSqrt2OverPi = 0.79788456080286535588;  // √(2/π)
constexpr double kGeluCubic = 0.044715;
constexpr double kInvSqrt2Pi = 0.39894228040143267794;  // 1/√(2π)

template <class T>
T value(Activation kind, T x) {
  switch (kind) {
    case Activation::relu:
      return x < 0 ? T{0} : x;
    case Activation::gelu_tanh: {
      const T inner = T(kSqrt2OverPi) * (x + T(kGeluCubic) * x * x * x);
      return x / 2 * (1 + std::tanh(inner));
    }
    case Activation::gelu_erf:
      return x / 2 * (1 + std::erf(x * T(std::numbers::sqrt2 / 2)));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::exp:
      return std::exp(x);
    case Activation::log:
      return std::log(x);
  }
  return x;
}

// f'(x), s being y or x by saves_output.
template <class T>
T derivative(Activation kind, T s) {
  switch (kind) {
    case Activation::relu:
      return s > 0 ? T{1} : T{0};
    case Activation::gelu_tanh: {
      const T square = s * s;
      const T t = std::tanh(T(kSqrt2OverPi) * (s + T(kGeluCubic) * square * s));
      const T inner = T(kSqrt2OverPi) * (1 + T(3 * kGeluCubic) * square);
      return (1 + t) / 2 + s / 2 * (1 - t * t) * inner;
    }
    case Activation::gelu_erf:
      return (1 + std::erf(s * T(std::numbers::sqrt2 / 2))) / 2 +
             s * T(kInvSqrt2Pi) * std::exp(-s * s / 2);
    case Activation::tanh:
      return 1 - s * s;
    case Activation::sigmoid:
      return s * (1 - s);
    case Activation::exp:
      return s;
    case Activation::log:
      return 1 / s;
  }
  return s;
}

int64_t cost(Activation kind) { return kind == Activation::relu ? 1 : 8; }

}  // namespace

bool saves_output(Activation kind) {
  return kind == Activation::tanh || kind == Activation::sigmoid ||
         kind == Activation::exp;
}

template <class T>
void activation(Activation kind, const T* x, int64_t n, T* y) {
  for_elements(n, cost(kind), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = value(kind, x[i]);
  });
}

template <class T>
void activation_backward(Activation kind, const T* saved, const T* dy,
                         int64_t n, T* dx) {
  for_elements(n, cost(kind), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      dx[i] = derivative(kind, saved[i]) * dy[i];
  });
}

#define QKV_INSTANTIATE(T)                                                   \
  template void activation(Activation, const T*, int64_t, T*);               \
  template void activation_backward(Activation, const T*, const T*, int64_t, \
                                    T*);
QKV_INSTANTIATE(float)
QKV_INSTANTIATE(double)
#undef QKV_INSTANTIATE

}  // namespace qkv::kernels
