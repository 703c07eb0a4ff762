#include "kernels/norm/batch_norm.h"

#include <algorithm>

#include "core/parallel.h"

namespace qkv::kernels {
namespace {

// Calls work(first, last) for blocks of columns: a few cache lines of a row
// each, and enough numbers to be worth a thread.
void by_columns(std::int64_t rows, std::int64_t n,
                FunctionRef<void(std::int64_t, std::int64_t)> work) {
  constexpr std::int64_t kLeastColumns = 64, kLeastNumbers = 1 << 15;
  parallel_ranges(
      n,
      std::max(kLeastColumns, kLeastNumbers / std::max<std::int64_t>(rows, 1)),
      work);
}

}  // namespace

template <class T>
void column_moments(const T* x, std::int64_t rows, std::int64_t n, T* mean,
                    T* squares) {
  by_columns(rows, n, [&](std::int64_t first, std::int64_t last) {
    std::fill(mean + first, mean + last, T(0));
    std::fill(squares + first, squares + last, T(0));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = first; c < last; ++c) mean[c] += x[r * n + c];
    for (std::int64_t c = first; c < last; ++c) mean[c] /= static_cast<T>(rows);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = first; c < last; ++c) {
        const T d = x[r * n + c] - mean[c];
        squares[c] += d * d;
      }
  });
}

template <class T>
void batch_norm(const T* x, const T* mean, const T* rstd, const T* gamma,
                const T* beta, std::int64_t rows, std::int64_t n, T* y) {
  by_columns(rows, n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = first; c < last; ++c)
        y[r * n + c] = (x[r * n + c] - mean[c]) * rstd[c] * gamma[c] + beta[c];
  });
}

template <class T>
void batch_norm_backward(const T* x, const T* mean, const T* rstd,
                         const T* gamma, const T* dy, std::int64_t rows,
                         std::int64_t n, T divisor, T* dx, T* dgamma,
                         T* dbeta) {
  by_columns(rows, n, [&](std::int64_t first, std::int64_t last) {
    std::fill(dgamma + first, dgamma + last, T(0));
    std::fill(dbeta + first, dbeta + last, T(0));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = first; c < last; ++c) {
        const T g = dy[r * n + c];
        dbeta[c] += g;
        dgamma[c] += g * ((x[r * n + c] - mean[c]) * rstd[c]);
      }
    if (!dx) return;
    const T part = T(1) / static_cast<T>(rows);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = first; c < last; ++c) {
        const T h = (x[r * n + c] - mean[c]) * rstd[c];
        dx[r * n + c] =
            gamma[c] * rstd[c] *
            (dy[r * n + c] - dbeta[c] * part - h * dgamma[c] / divisor);
      }
  });
}

#define QKV_INSTANTIATE(T)                                                     \
  template void column_moments<T>(const T*, std::int64_t, std::int64_t, T*,    \
                                  T*);                                         \
  template void batch_norm<T>(const T*, const T*, const T*, const T*,          \
                              const T*, std::int64_t, std::int64_t, T*);       \
  template void batch_norm_backward<T>(const T*, const T*, const T*, const T*, \
                                       const T*, std::int64_t, std::int64_t,   \
                                       T, T*, T*, T*)
QKV_INSTANTIATE(float);
QKV_INSTANTIATE(double);
#undef QKV_INSTANTIATE

}  // namespace qkv::kernels
