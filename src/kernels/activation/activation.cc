#include "kernels/activation/activation.h"

#include <cmath>
#include <numbers>

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation/activation.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/math-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

constexpr float kSqrt2OverPi = 0.79788456080286535588f;  // √(2/π)
constexpr float kGeluCubic = 0.044715f;
constexpr float kInvSqrt2Pi = 0.39894228040143267794f;  // 1/√(2π)

// f and f' at the same place: most of the work is the same.
struct ValueAndSlope {
  Vec value, slope;
};

// x·σ(w), w = 2√(2/π)(x + 0.044715 x³): (1 + tanh u)/2 = σ(2u), without the
// cancellation for negative x. The slope is σ + x·σ(1-σ)·w'.
HWY_INLINE ValueAndSlope gelu_tanh(Vec x) {
  constexpr float kLinear = 2 * kSqrt2OverPi, kCubic = kLinear * kGeluCubic;
  const Vec square = hn::Mul(x, x), one = set(1.0f);
  const Vec w = hn::Mul(x, hn::MulAdd(square, set(kCubic), set(kLinear)));
  const Vec e = exp2(hn::Mul(hn::Abs(w), set(-kLog2E)));
  const Vec above = hn::IfThenElse(hn::Lt(w, hn::Zero(F32())), e, one);
  const Vec s = quotient(above, hn::Add(one, e));
  const Vec rise = hn::MulAdd(square, set(3 * kCubic), set(kLinear));
  // σ(1-σ) is 0 far out, before x·w' could overflow.
  const Vec bend = hn::Mul(x, hn::Mul(s, hn::Sub(one, s)));
  return {hn::Mul(x, s), hn::MulAdd(bend, rise, s)};
}

// x·Φ(x). Φ(-a) = e^(-a²/2)·P(t), t = 1/(1 + 0.3a), P fitted to a relative
// error of 6e-8 (the form is Hastings's, 1955). The slope is Φ + x·φ, φ =
// e^(-x²/2)/√(2π).
HWY_INLINE ValueAndSlope gelu_erf(Vec x) {
  // Beyond 14 nothing is left of the tail, and 1/(1 + ∞) would spoil it.
  const Vec a = hn::Min(set(14.0f), hn::Abs(x)), one = set(1.0f);
  const Vec bell = exp2(hn::Mul(hn::Mul(a, a), set(-0.5f * kLog2E)));
  const Vec t = quotient(one, hn::MulAdd(a, set(0.3f), one));
  const Vec p = polynomial(t, 7.168838e-06f, 0.11948769f, 0.12192032f,
                           0.094683655f, 0.1425351f, -0.076505706f, 0.22865924f,
                           -0.16916563f, 0.03837817f);
  const Vec tail = hn::Mul(bell, p);
  const Vec phi =
      hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), tail, hn::Sub(one, tail));
  const Vec density = hn::Mul(bell, set(kInvSqrt2Pi));
  return {hn::Mul(x, phi), hn::MulAdd(x, density, phi)};
}

HWY_INLINE ValueAndSlope relu(Vec x) {
  const Vec zero = hn::Zero(F32());  // Max in this order keeps a NaN
  return {hn::Max(zero, x), hn::IfThenElseZero(hn::Gt(x, zero), set(1.0f))};
}

template <class F>
HWY_INLINE void map(const float* x, int64_t n, float* y, F f) {
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    store(f(load(x + i, lanes)), y + i, lanes);
  });
}

void activation_block(Activation kind, const float* x, int64_t n, float* y) {
  switch (kind) {
    case Activation::relu:
      return map(x, n, y,
                 [](Vec v) QKV_INLINE_LAMBDA { return relu(v).value; });
    case Activation::gelu_tanh:
      return map(x, n, y,
                 [](Vec v) QKV_INLINE_LAMBDA { return gelu_tanh(v).value; });
    case Activation::gelu_erf:
      return map(x, n, y,
                 [](Vec v) QKV_INLINE_LAMBDA { return gelu_erf(v).value; });
    case Activation::tanh:
      return map(x, n, y, [](Vec v) QKV_INLINE_LAMBDA { return tanh(v); });
    case Activation::sigmoid:
      return map(x, n, y, [](Vec v) QKV_INLINE_LAMBDA { return sigmoid(v); });
    case Activation::exp:
      return map(x, n, y, [](Vec v) QKV_INLINE_LAMBDA { return exp(v); });
    case Activation::log:
      return map(x, n, y, [](Vec v) QKV_INLINE_LAMBDA { return log(v); });
  }
}

// f'(x)·dy, f given by what is saved and dy.
template <class F>
HWY_INLINE void map_backward(const float* saved, const float* dy, int64_t n,
                             float* dx, F f) {
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    store(f(load(saved + i, lanes), load(dy + i, lanes)), dx + i, lanes);
  });
}

// The same for f given with its slope; f(x) itself to y, unless that is null.
template <class F>
HWY_INLINE void map_both(const float* x, const float* dy, int64_t n, float* dx,
                         float* y, F f) {
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    const ValueAndSlope v = f(load(x + i, lanes));
    store(hn::Mul(load(dy + i, lanes), v.slope), dx + i, lanes);
    if (y) store(v.value, y + i, lanes);
  });
}

void activation_backward_block(Activation kind, const float* saved,
                               const float* dy, int64_t n, float* dx,
                               float* y) {
  const Vec one = set(1.0f);
  switch (kind) {
    case Activation::relu:
      return map_both(saved, dy, n, dx, y,
                      [](Vec x) QKV_INLINE_LAMBDA { return relu(x); });
    case Activation::gelu_tanh:
      return map_both(saved, dy, n, dx, y,
                      [](Vec x) QKV_INLINE_LAMBDA { return gelu_tanh(x); });
    case Activation::gelu_erf:
      return map_both(saved, dy, n, dx, y,
                      [](Vec x) QKV_INLINE_LAMBDA { return gelu_erf(x); });
    case Activation::tanh:
      return map_backward(saved, dy, n, dx,
                          [&](Vec y, Vec d) QKV_INLINE_LAMBDA {
                            return hn::Mul(d, hn::NegMulAdd(y, y, one));
                          });
    case Activation::sigmoid:
      return map_backward(saved, dy, n, dx,
                          [&](Vec y, Vec d) QKV_INLINE_LAMBDA {
                            return hn::Mul(d, hn::Mul(y, hn::Sub(one, y)));
                          });
    case Activation::exp:
      return map_backward(saved, dy, n, dx, [](Vec y, Vec d) QKV_INLINE_LAMBDA {
        return hn::Mul(y, d);
      });
    case Activation::log:
      return map_backward(saved, dy, n, dx, [](Vec x, Vec d) QKV_INLINE_LAMBDA {
        return hn::Div(d, x);
      });
  }
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(activation_block);
HWY_EXPORT(activation_backward_block);

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
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(activation_block)(kind, x + begin,
                                                      end - begin, y + begin);
    for (int64_t i = begin; i < end; ++i) y[i] = value(kind, x[i]);
  });
}

template <class T>
void activation_backward(Activation kind, const T* saved, const T* dy,
                         int64_t n, T* dx, T* y) {
  for_elements(n, cost(kind), [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(activation_backward_block)(
            kind, saved + begin, dy + begin, end - begin, dx + begin,
            y ? y + begin : nullptr);
    for (int64_t i = begin; i < end; ++i) {
      dx[i] = derivative(kind, saved[i]) * dy[i];
      if (y) y[i] = value(kind, saved[i]);
    }
  });
}

template void activation(Activation, const float*, int64_t, float*);
template void activation(Activation, const double*, int64_t, double*);
template void activation_backward(Activation, const float*, const float*,
                                  int64_t, float*, float*);
template void activation_backward(Activation, const double*, const double*,
                                  int64_t, double*, double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
