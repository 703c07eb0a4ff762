#include "kernels/softmax/softmax.h"

#include <cmath>

#include "kernels/cut.h"

namespace qkv::kernels {
namespace {

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

template <class F>
void each_row(int64_t rows, int64_t n, int64_t cost, F&& row) {
  if (n == 0) return;
  for_rows(rows, n * cost, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) row(r * n);
  });
}

}  // namespace

template <class T>
void softmax(const T* x, int64_t rows, int64_t n, T* y) {
  each_row(rows, n, kExpCost,
           [&](int64_t at) { softmax_row(x + at, n, y + at); });
}

template <class T>
void softmax_backward(const T* y, const T* dy, int64_t rows, int64_t n, T* dx) {
  each_row(rows, n, 2, [&](int64_t at) {
    softmax_backward_row(y + at, dy + at, n, dx + at);
  });
}

template <class T>
void log_softmax(const T* x, int64_t rows, int64_t n, T* y) {
  each_row(rows, n, kExpCost,
           [&](int64_t at) { log_softmax_row(x + at, n, y + at); });
}

template <class T>
void log_softmax_backward(const T* y, const T* dy, int64_t rows, int64_t n,
                          T* dx) {
  each_row(rows, n, kExpCost, [&](int64_t at) {
    log_softmax_backward_row(y + at, dy + at, n, dx + at);
  });
}

#define QKV_INSTANTIATE(T)                                                  \
  template void softmax(const T*, int64_t, int64_t, T*);                    \
  template void softmax_backward(const T*, const T*, int64_t, int64_t, T*); \
  template void log_softmax(const T*, int64_t, int64_t, T*);                \
  template void log_softmax_backward(const T*, const T*, int64_t, int64_t, T*);
QKV_INSTANTIATE(float)
QKV_INSTANTIATE(double)
#undef QKV_INSTANTIATE

}  // namespace qkv::kernels
