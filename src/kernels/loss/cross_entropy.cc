#include "kernels/loss/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/loss/cross_entropy.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/math-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

float log_sum_exp_fast(const float* x, int64_t n) {
  const float max = max_of(x, n);
  const float sum = sum_of(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    return exp_nonpositive(hn::Sub(load(x + i, lanes), set(max)));
  });
  return max + std::log(sum);
}

// dx = scale·exp(x - log_sum): the softmax part of the gradient.
void scaled_softmax_fast(const float* x, int64_t n, float log_sum, float scale,
                         float* dx) {
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    // Not above 0 but for rounding, so the clamp changes nothing.
    const Vec d =
        hn::Min(hn::Zero(F32()), hn::Sub(load(x + i, lanes), set(log_sum)));
    store(hn::Mul(set(scale), exp_nonpositive(d)), dx + i, lanes);
  });
}

// log_sum_exp of x, and dx = scale·softmax(x), which may be x.
float log_sum_exp_and_softmax_fast(const float* x, int64_t n, float scale,
                                   float* dx) {
  const float max = max_of(x, n);
  const float sum = sum_of(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    const Vec e = exp_nonpositive(hn::Sub(load(x + i, lanes), set(max)));
    store(e, dx + i, lanes);
    return e;
  });
  const Vec factor = set(scale / sum);
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    store(hn::Mul(load(dx + i, lanes), factor), dx + i, lanes);
  });
  return max + std::log(sum);
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(log_sum_exp_fast);
HWY_EXPORT(scaled_softmax_fast);
HWY_EXPORT(log_sum_exp_and_softmax_fast);

using std::int64_t;

constexpr int64_t kExpCost = 8;  // of an element, beside a plain loop's

template <class T>
T log_sum_exp(const T* x, int64_t n) {
  if constexpr (std::is_same_v<T, float>)
    if (use_fast<T>()) return HWY_DYNAMIC_DISPATCH(log_sum_exp_fast)(x, n);
  T max = x[0];
  for (int64_t i = 1; i < n; ++i)
    if (!(x[i] <= max)) max = x[i];
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - max);
  return max + std::log(sum);
}

// dx = scale·exp(x - log_sum).
template <class T>
void scaled_softmax(const T* x, int64_t n, T log_sum, T scale, T* dx) {
  if constexpr (std::is_same_v<T, float>)
    if (use_fast<T>())
      return HWY_DYNAMIC_DISPATCH(scaled_softmax_fast)(x, n, log_sum, scale,
                                                       dx);
  for (int64_t i = 0; i < n; ++i) dx[i] = scale * std::exp(x[i] - log_sum);
}

// Both; dx may be x.
template <class T>
T log_sum_exp_and_softmax(const T* x, int64_t n, T scale, T* dx) {
  if constexpr (std::is_same_v<T, float>)
    if (use_fast<T>())
      return HWY_DYNAMIC_DISPATCH(log_sum_exp_and_softmax_fast)(x, n, scale,
                                                                dx);
  const T log_sum = log_sum_exp(x, n);
  scaled_softmax(x, n, log_sum, scale, dx);
  return log_sum;
}

template <class T>
int64_t target_of(const CrossEntropy<T>& x, int64_t row) {
  return x.targets[row] == x.ignore ? -1 : x.targets[row];
}

}  // namespace

template <class T>
void cross_entropy(const CrossEntropy<T>& x, T* losses, T* log_sum) {
  for_rows(x.rows, x.n * kExpCost, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x.logits + r * x.stride;
      const int64_t target = target_of(x, r);
      const T log_sum_row = target < 0 ? T{0} : log_sum_exp(row, x.n);
      losses[r] = target < 0 ? T{0} : log_sum_row - row[target];
      if (log_sum) log_sum[r] = log_sum_row;
    }
  });
}

template <class T>
void cross_entropy_backward(const CrossEntropy<T>& x, const T* log_sum,
                            const T* row_scale, T scale, T* dlogits) {
  for_rows(x.rows, x.n * kExpCost, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T* drow = dlogits + r * x.stride;
      const int64_t target = target_of(x, r);
      if (target < 0) {
        std::fill_n(drow, x.n, T{0});
        continue;
      }
      const T factor = row_scale ? row_scale[r] : scale;
      scaled_softmax(x.logits + r * x.stride, x.n, log_sum[r], factor, drow);
      drow[target] -= factor;
    }
  });
}

template <class T>
void cross_entropy_with_gradient(const CrossEntropy<T>& x, T scale, T* losses,
                                 T* dlogits) {
  for_rows(x.rows, 2 * x.n * kExpCost, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x.logits + r * x.stride;
      T* drow = dlogits + r * x.stride;
      const int64_t target = target_of(x, r);
      if (target < 0) {
        losses[r] = 0;
        std::fill_n(drow, x.n, T{0});
        continue;
      }
      const T at_target = row[target];  // drow may be row
      losses[r] = log_sum_exp_and_softmax(row, x.n, scale, drow) - at_target;
      drow[target] -= scale;
    }
  });
}

template void cross_entropy(const CrossEntropy<float>&, float*, float*);
template void cross_entropy(const CrossEntropy<double>&, double*, double*);
template void cross_entropy_backward(const CrossEntropy<float>&, const float*,
                                     const float*, float, float*);
template void cross_entropy_backward(const CrossEntropy<double>&, const double*,
                                     const double*, double, double*);
template void cross_entropy_with_gradient(const CrossEntropy<float>&, float,
                                          float*, float*);
template void cross_entropy_with_gradient(const CrossEntropy<double>&, double,
                                          double*, double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
