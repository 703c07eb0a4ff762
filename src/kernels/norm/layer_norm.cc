#include "kernels/norm/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cut.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

// Rows whose dgamma and dbeta are summed together; the sums of the chunks are
// then added in order.
constexpr int64_t kChunkRows = 32;

template <class T>
void layer_norm_row(const T* x, const T* gamma, const T* beta, int64_t n, T eps,
                    T* y, T* mean_out, T* rstd_out) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  const T mean = sum / static_cast<T>(n);
  T squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const T rstd = 1 / std::sqrt(squares / static_cast<T>(n) + eps);
  for (int64_t i = 0; i < n; ++i)
    y[i] = (x[i] - mean) * rstd * (gamma ? gamma[i] : T{1}) +
           (beta ? beta[i] : T{0});
  if (mean_out) *mean_out = mean;
  if (rstd_out) *rstd_out = rstd;
}

// Adds this row's part to dgamma and dbeta before dy may be overwritten by dx.
template <class T>
void backward_row(const T* x, const T* gamma, T mean, T rstd, const T* dy,
                  int64_t n, T* dx, T* dgamma, T* dbeta) {
  T sum = 0, dot = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T h = (x[i] - mean) * rstd;
    const T g = gamma ? dy[i] * gamma[i] : dy[i];
    sum += g;
    dot += g * h;
    dgamma[i] += dy[i] * h;
    dbeta[i] += dy[i];
  }
  sum /= static_cast<T>(n);
  dot /= static_cast<T>(n);
  for (int64_t i = 0; i < n; ++i) {
    const T h = (x[i] - mean) * rstd;
    const T g = gamma ? dy[i] * gamma[i] : dy[i];
    dx[i] = rstd * (g - sum - h * dot);
  }
}

}  // namespace

template <class T>
void layer_norm(const T* x, const T* gamma, const T* beta, int64_t rows,
                int64_t n, double eps, T* y, T* mean, T* rstd) {
  for_rows(rows, 4 * n, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      layer_norm_row(x + r * n, gamma, beta, n, static_cast<T>(eps), y + r * n,
                     mean ? mean + r : nullptr, rstd ? rstd + r : nullptr);
  });
}

int64_t layer_norm_backward_workspace(int64_t rows, int64_t n) {
  return (rows + kChunkRows - 1) / kChunkRows * 2 * n;
}

template <class T>
void layer_norm_backward(const T* x, const T* gamma, const T* mean,
                         const T* rstd, const T* dy, int64_t rows, int64_t n,
                         T* dx, T* dgamma, T* dbeta, T* workspace) {
  const int64_t chunks = (rows + kChunkRows - 1) / kChunkRows;
  for_rows(chunks, kChunkRows * 8 * n, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      T* partial = workspace + chunk * 2 * n;
      std::fill_n(partial, 2 * n, T{0});
      const int64_t last = std::min(rows, (chunk + 1) * kChunkRows);
      for (int64_t r = chunk * kChunkRows; r < last; ++r)
        backward_row(x + r * n, gamma, mean[r], rstd[r], dy + r * n, n,
                     dx + r * n, partial, partial + n);
    }
  });
  for_elements(n, 2 * std::max<int64_t>(chunks, 1),
               [&](int64_t begin, int64_t end) {
                 for (int which = 0; which < 2; ++which) {
                   T* out = which == 0 ? dgamma : dbeta;
                   if (!out) continue;
                   std::fill(out + begin, out + end, T{0});
                   for (int64_t chunk = 0; chunk < chunks; ++chunk) {
                     const T* partial = workspace + (chunk * 2 + which) * n;
                     for (int64_t i = begin; i < end; ++i) out[i] += partial[i];
                   }
                 }
               });
}

#define QKV_INSTANTIATE(T)                                                  \
  template void layer_norm(const T*, const T*, const T*, int64_t, int64_t,  \
                           double, T*, T*, T*);                             \
  template void layer_norm_backward(const T*, const T*, const T*, const T*, \
                                    const T*, int64_t, int64_t, T*, T*, T*, \
                                    T*);
QKV_INSTANTIATE(float)
QKV_INSTANTIATE(double)
#undef QKV_INSTANTIATE

}  // namespace qkv::kernels
