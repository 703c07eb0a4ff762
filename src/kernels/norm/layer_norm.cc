#include "kernels/norm/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "core/divide.h"
#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/layer_norm.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

// Like layer_norm below, on rows one after another.
void layer_norm_rows(const float* x, const float* gamma, const float* beta,
                     int64_t rows, int64_t n, float eps, float* y, float* mean,
                     float* rstd) {
  const float inverse_n = 1 / static_cast<float>(n);
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const float m =
        inverse_n * sum_of(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
          return load(x + i, lanes);
        });
    const Vec center = set(m);
    const float squares =
        sum_of(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
          const Vec c = hn::Sub(load(x + i, lanes), center);
          return hn::Mul(c, c);
        });
    const float s = 1 / std::sqrt(squares * inverse_n + eps);
    const Vec scale = set(s), one = set(1.0f), zero = hn::Zero(F32());
    each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      const Vec h = hn::Mul(hn::Sub(load(x + i, lanes), center), scale);
      const Vec g = gamma ? load(gamma + i, lanes) : one;
      const Vec b = beta ? load(beta + i, lanes) : zero;
      store(hn::MulAdd(h, g, b), y + i, lanes);
    });
    if (mean) mean[r] = m;
    if (rstd) rstd[r] = s;
  }
}

// Like backward_row below, on rows one after another.
void layer_norm_backward_block(const float* x, const float* gamma,
                               const float* mean, const float* rstd,
                               const float* dy, int64_t rows, int64_t n,
                               float* dx, float* dgamma, float* dbeta) {
  const float inverse_n = 1 / static_cast<float>(n);
  for (int64_t r = 0; r < rows; ++r, x += n, dy += n, dx += n) {
    const Vec center = set(mean[r]), scale = set(rstd[r]);
    Vec dots = hn::Zero(F32());
    const float sum = sum_of(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      const Vec h = hn::Mul(hn::Sub(load(x + i, lanes), center), scale);
      const Vec d = load(dy + i, lanes);
      const Vec g = gamma ? hn::Mul(d, load(gamma + i, lanes)) : d;
      store(hn::MulAdd(d, h, load(dgamma + i, lanes)), dgamma + i, lanes);
      store(hn::Add(d, load(dbeta + i, lanes)), dbeta + i, lanes);
      dots = hn::MulAdd(g, h, dots);
      return g;
    });
    const float dot = hn::GetLane(hn::SumOfLanes(F32(), dots));
    const Vec mean_g = set(sum * inverse_n), mean_gh = set(dot * inverse_n);
    each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      const Vec h = hn::Mul(hn::Sub(load(x + i, lanes), center), scale);
      const Vec g = gamma ? hn::Mul(load(dy + i, lanes), load(gamma + i, lanes))
                          : load(dy + i, lanes);
      const Vec centered = hn::Sub(g, mean_g);
      store(hn::Mul(scale, hn::NegMulAdd(h, mean_gh, centered)), dx + i, lanes);
    });
  }
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(layer_norm_rows);
HWY_EXPORT(layer_norm_backward_block);

using std::int64_t;

// Rows whose dgamma and dbeta are summed together are a chunk; the sums of the
// chunks are then added in order.
int64_t chunks_of(int64_t rows) { return ceil_div(rows, kRowChunk); }

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
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(layer_norm_rows)(
            x + begin * n, gamma, beta, end - begin, n, static_cast<float>(eps),
            y + begin * n, mean ? mean + begin : nullptr,
            rstd ? rstd + begin : nullptr);
    for (int64_t r = begin; r < end; ++r)
      layer_norm_row(x + r * n, gamma, beta, n, static_cast<T>(eps), y + r * n,
                     mean ? mean + r : nullptr, rstd ? rstd + r : nullptr);
  });
}

int64_t layer_norm_backward_workspace(int64_t rows, int64_t n) {
  return chunks_of(rows) * 2 * n;
}

template <class T>
void layer_norm_backward_rows(const LayerNormBackward<T>& p, int64_t begin,
                              int64_t end) {
  const int64_t n = p.n;
  for (int64_t first = begin; first < end; first += kRowChunk) {
    const int64_t last = std::min(end, first + kRowChunk);
    T* part = p.workspace + first / kRowChunk * 2 * n;
    std::fill_n(part, 2 * n, T{0});
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>()) {
        HWY_DYNAMIC_DISPATCH(layer_norm_backward_block)
        (p.x + first * n, p.gamma, p.mean + first, p.rstd + first,
         p.dy + first * n, last - first, n, p.dx + first * n, part, part + n);
        continue;
      }
    for (int64_t r = first; r < last; ++r)
      backward_row(p.x + r * n, p.gamma, p.mean[r], p.rstd[r], p.dy + r * n, n,
                   p.dx + r * n, part, part + n);
  }
}

template <class T>
void layer_norm_backward_sums(const T* workspace, int64_t rows, int64_t n,
                              T* dgamma, T* dbeta) {
  const int64_t chunks = chunks_of(rows);
  for_elements(n, 2 * std::max<int64_t>(chunks, 1),
               [&](int64_t begin, int64_t end) {
                 for (int which = 0; which < 2; ++which) {
                   T* out = which == 0 ? dgamma : dbeta;
                   if (!out) continue;
                   std::fill(out + begin, out + end, T{0});
                   for (int64_t chunk = 0; chunk < chunks; ++chunk) {
                     const T* part = workspace + (chunk * 2 + which) * n;
                     for (int64_t i = begin; i < end; ++i) out[i] += part[i];
                   }
                 }
               });
}

template <class T>
void layer_norm_backward(const LayerNormBackward<T>& p, T* dgamma, T* dbeta) {
  for_rows(chunks_of(p.rows), kRowChunk * 8 * p.n,
           [&](int64_t begin, int64_t end) {
             layer_norm_backward_rows(p, begin * kRowChunk,
                                      std::min(end * kRowChunk, p.rows));
           });
  layer_norm_backward_sums<T>(p.workspace, p.rows, p.n, dgamma, dbeta);
}

template void layer_norm(const float*, const float*, const float*, int64_t,
                         int64_t, double, float*, float*, float*);
template void layer_norm(const double*, const double*, const double*, int64_t,
                         int64_t, double, double*, double*, double*);
template void layer_norm_backward_rows(const LayerNormBackward<float>&, int64_t,
                                       int64_t);
template void layer_norm_backward_rows(const LayerNormBackward<double>&,
                                       int64_t, int64_t);
template void layer_norm_backward_sums(const float*, int64_t, int64_t, float*,
                                       float*);
template void layer_norm_backward_sums(const double*, int64_t, int64_t, double*,
                                       double*);
template void layer_norm_backward(const LayerNormBackward<float>&, float*,
                                  float*);
template void layer_norm_backward(const LayerNormBackward<double>&, double*,
                                  double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
