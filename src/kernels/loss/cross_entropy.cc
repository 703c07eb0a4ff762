#include "kernels/loss/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "kernels/cut.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

constexpr int64_t kExpCost = 8;  // of an element, beside a plain loop's

template <class T>
T log_sum_exp(const T* x, int64_t n) {
  T max = x[0];
  for (int64_t i = 1; i < n; ++i)
    if (!(x[i] <= max)) max = x[i];
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - max);
  return max + std::log(sum);
}

// target < 0: an ignored row.
template <class T>
void gradient_row(const T* x, int64_t n, int64_t target, T log_sum, T scale,
                  T* dx) {
  if (target < 0) {
    std::fill_n(dx, n, T{0});
    return;
  }
  for (int64_t i = 0; i < n; ++i) dx[i] = scale * std::exp(x[i] - log_sum);
  dx[target] -= scale;
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
    for (int64_t r = begin; r < end; ++r)
      gradient_row(x.logits + r * x.stride, x.n, target_of(x, r), log_sum[r],
                   row_scale ? row_scale[r] : scale, dlogits + r * x.stride);
  });
}

template <class T>
void cross_entropy_with_gradient(const CrossEntropy<T>& x, T scale, T* losses,
                                 T* dlogits) {
  for_rows(x.rows, 2 * x.n * kExpCost, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x.logits + r * x.stride;
      const int64_t target = target_of(x, r);
      const T log_sum = target < 0 ? T{0} : log_sum_exp(row, x.n);
      losses[r] = target < 0 ? T{0} : log_sum - row[target];
      gradient_row(row, x.n, target, log_sum, scale, dlogits + r * x.stride);
    }
  });
}

#define QKV_INSTANTIATE(T)                                               \
  template void cross_entropy(const CrossEntropy<T>&, T*, T*);           \
  template void cross_entropy_backward(const CrossEntropy<T>&, const T*, \
                                       const T*, T, T*);                 \
  template void cross_entropy_with_gradient(const CrossEntropy<T>&, T, T*, T*);
QKV_INSTANTIATE(float)
QKV_INSTANTIATE(double)
#undef QKV_INSTANTIATE

}  // namespace qkv::kernels
