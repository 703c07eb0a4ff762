#include "kernels/softmax/softmax.h"

#include <cmath>

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax/softmax.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/math-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

void softmax_rows(const float* x, int64_t rows, int64_t n, float* y) {
  for (; rows > 0; --rows, x += n, y += n) {
    const Vec max = set(max_of(x, n));
    const float sum = sum_of(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      const Vec e = exp_nonpositive(hn::Sub(load(x + i, lanes), max));
      store(e, y + i, lanes);
      return e;
    });
    const Vec factor = set(1 / sum);
    each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      store(hn::Mul(load(y + i, lanes), factor), y + i, lanes);
    });
  }
}

void softmax_backward_rows(const float* y, const float* dy, int64_t rows,
                           int64_t n, float* dx) {
  for (; rows > 0; --rows, y += n, dy += n, dx += n) {
    const Vec dot = set(sum_of(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      return hn::Mul(load(y + i, lanes), load(dy + i, lanes));
    }));
    each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      const Vec d = hn::Sub(load(dy + i, lanes), dot);
      store(hn::Mul(load(y + i, lanes), d), dx + i, lanes);
    });
  }
}

void log_softmax_rows(const float* x, int64_t rows, int64_t n, float* y) {
  for (; rows > 0; --rows, x += n, y += n) {
    const float max = max_of(x, n);
    const float sum = sum_of(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      return exp_nonpositive(hn::Sub(load(x + i, lanes), set(max)));
    });
    const float log_sum = std::log(sum);
    each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      const Vec shifted = hn::Sub(load(x + i, lanes), set(max));
      store(hn::Sub(shifted, set(log_sum)), y + i, lanes);
    });
  }
}

void log_softmax_backward_rows(const float* y, const float* dy, int64_t rows,
                               int64_t n, float* dx) {
  for (; rows > 0; --rows, y += n, dy += n, dx += n) {
    const Vec sum = set(sum_of(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      return load(dy + i, lanes);
    }));
    each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      const Vec p = exp(load(y + i, lanes));
      store(hn::NegMulAdd(p, sum, load(dy + i, lanes)), dx + i, lanes);
    });
  }
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(softmax_backward_rows);
HWY_EXPORT(log_softmax_rows);
HWY_EXPORT(log_softmax_backward_rows);

using std::int64_t;

constexpr int64_t kExpCost = 8;  // of an element, beside a plain loop's

// The largest, NaN if there is one.
template <class T>
T largest(const T* x, int64_t n) {
  T max = x[0];
  for (int64_t i = 1; i < n; ++i)
    if (!(x[i] <= max)) max = x[i];
  return max;
}

template <class T>
void softmax_row(const T* x, int64_t n, T* y) {
  const T max = largest(x, n);
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += y[i] = std::exp(x[i] - max);
  for (int64_t i = 0; i < n; ++i) y[i] /= sum;
}

template <class T>
void softmax_backward_row(const T* y, const T* dy, int64_t n, T* dx) {
  T dot = 0;
  for (int64_t i = 0; i < n; ++i) dot += y[i] * dy[i];
  for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
}

template <class T>
void log_softmax_row(const T* x, int64_t n, T* y) {
  const T max = largest(x, n);
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - max);
  const T log_sum = std::log(sum);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - max - log_sum;
}

template <class T>
void log_softmax_backward_row(const T* y, const T* dy, int64_t n, T* dx) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += dy[i];
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - std::exp(y[i]) * sum;
}

// rows(begin, end) with positions of elements for row numbers.
template <class F>
void row_blocks(int64_t rows, int64_t n, int64_t cost, F&& block) {
  if (n > 0)
    for_rows(rows, n * cost, [&](int64_t begin, int64_t end) {
      block(begin * n, end - begin);
    });
}

}  // namespace

template <class T>
void softmax(const T* x, int64_t rows, int64_t n, T* y) {
  row_blocks(rows, n, kExpCost, [&](int64_t at, int64_t count) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(softmax_rows)(x + at, count, n, y + at);
    for (int64_t r = 0; r < count; ++r, at += n) softmax_row(x + at, n, y + at);
  });
}

template <class T>
void softmax_backward(const T* y, const T* dy, int64_t rows, int64_t n, T* dx) {
  row_blocks(rows, n, 2, [&](int64_t at, int64_t count) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(softmax_backward_rows)(y + at, dy + at,
                                                           count, n, dx + at);
    for (int64_t r = 0; r < count; ++r, at += n)
      softmax_backward_row(y + at, dy + at, n, dx + at);
  });
}

template <class T>
void log_softmax(const T* x, int64_t rows, int64_t n, T* y) {
  row_blocks(rows, n, kExpCost, [&](int64_t at, int64_t count) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(log_softmax_rows)(x + at, count, n, y + at);
    for (int64_t r = 0; r < count; ++r, at += n)
      log_softmax_row(x + at, n, y + at);
  });
}

template <class T>
void log_softmax_backward(const T* y, const T* dy, int64_t rows, int64_t n,
                          T* dx) {
  row_blocks(rows, n, kExpCost, [&](int64_t at, int64_t count) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(log_softmax_backward_rows)(
            y + at, dy + at, count, n, dx + at);
    for (int64_t r = 0; r < count; ++r, at += n)
      log_softmax_backward_row(y + at, dy + at, n, dx + at);
  });
}

template void softmax(const float*, int64_t, int64_t, float*);
template void softmax(const double*, int64_t, int64_t, double*);
template void softmax_backward(const float*, const float*, int64_t, int64_t,
                               float*);
template void softmax_backward(const double*, const double*, int64_t, int64_t,
                               double*);
template void log_softmax(const float*, int64_t, int64_t, float*);
template void log_softmax(const double*, int64_t, int64_t, double*);
template void log_softmax_backward(const float*, const float*, int64_t, int64_t,
                                   float*);
template void log_softmax_backward(const double*, const double*, int64_t,
                                   int64_t, double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
