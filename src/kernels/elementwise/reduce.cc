#include "kernels/elementwise/reduce.h"

#include <algorithm>
#include <cmath>

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/reduce.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

// out (inner) = Σ over the n rows of x: a band of four vectors at a time stays
// in registers. A single column is summed in vectors instead.
void sum_rows_fast(const float* x, int64_t n, int64_t inner, float* out) {
  if (inner == 1) {
    *out = sum_of(n, [&](int64_t i, auto lanes)
                         QKV_INLINE_LAMBDA { return load(x + i, lanes); });
    return;
  }
  int64_t j = 0;
  for (; j + 4 * kLanes <= inner; j += 4 * kLanes) {
    const float* at = x + j;
    Vec s0 = hn::Zero(F32()), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t i = 0; i < n; ++i, at += inner) {
      s0 = hn::Add(s0, load(at, Whole{}));
      s1 = hn::Add(s1, load(at + kLanes, Whole{}));
      s2 = hn::Add(s2, load(at + 2 * kLanes, Whole{}));
      s3 = hn::Add(s3, load(at + 3 * kLanes, Whole{}));
    }
    store(s0, out + j, Whole{});
    store(s1, out + j + kLanes, Whole{});
    store(s2, out + j + 2 * kLanes, Whole{});
    store(s3, out + j + 3 * kLanes, Whole{});
  }
  each(inner - j, [&](int64_t rest, auto lanes) QKV_INLINE_LAMBDA {
    const float* at = x + j + rest;
    Vec sum = hn::Zero(F32());
    for (int64_t i = 0; i < n; ++i, at += inner)
      sum = hn::Add(sum, load(at, lanes));
    store(sum, out + j + rest, lanes);
  });
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(sum_rows_fast);

using std::int64_t;

// Places along n that are summed in one go: about 16 Ki elements.
int64_t chunk_length(int64_t inner) {
  return std::max<int64_t>(kRowChunk, 16384 / std::max<int64_t>(inner, 1));
}

int64_t chunk_count(int64_t n, int64_t inner) {
  const int64_t length = chunk_length(inner);
  return std::max<int64_t>(1, (n + length - 1) / length);
}

// out (inner) = Σ over the n rows of x.
template <class T>
void sum_rows(const T* x, int64_t n, int64_t inner, T* out) {
  if constexpr (std::is_same_v<T, float>)
    if (use_fast<T>())
      return HWY_DYNAMIC_DISPATCH(sum_rows_fast)(x, n, inner, out);
  std::fill_n(out, inner, T{0});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < inner; ++j) out[j] += x[i * inner + j];
}

}  // namespace

int64_t sum_axis_workspace(int64_t outer, int64_t n, int64_t inner) {
  const int64_t chunks = chunk_count(n, inner);
  if (chunks == 1) return 0;
  return outer * chunks * inner + sum_axis_workspace(outer, chunks, inner);
}

template <class T>
void sum_axis(const T* x, int64_t outer, int64_t n, int64_t inner, T* out,
              T* workspace) {
  const int64_t chunks = chunk_count(n, inner);
  if (chunks == 1) {
    for_rows(outer, std::max<int64_t>(n, 1) * inner,
             [&](int64_t begin, int64_t end) {
               for (int64_t o = begin; o < end; ++o)
                 sum_rows(x + o * n * inner, n, inner, out + o * inner);
             });
    return;
  }
  const int64_t length = chunk_length(inner);
  for_rows(outer * chunks, length * inner, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t first = c % chunks * length;
      sum_rows(x + (c / chunks * n + first) * inner,
               std::min(length, n - first), inner, workspace + c * inner);
    }
  });
  sum_axis(workspace, outer, chunks, inner, out,
           workspace + outer * chunks * inner);
}

template <class T>
void expand_axis(const T* x, int64_t outer, int64_t n, int64_t inner, T factor,
                 T* out) {
  if (n == 0 || inner == 0) return;
  if (inner == 1) {
    for_rows(outer, n, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o)
        std::fill_n(out + o * n, n, factor * x[o]);
    });
    return;
  }
  for_rows(outer * n, inner, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t j = 0; j < inner; ++j)
        out[r * inner + j] = factor * x[r / n * inner + j];
  });
}

template <class T>
void max_axis(const T* x, int64_t outer, int64_t n, int64_t inner, T* values,
              int64_t* indices) {
  for_rows(outer, n * inner, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o)
      for (int64_t j = 0; j < inner; ++j) {
        const T* column = x + o * n * inner + j;
        int64_t best = 0;
        T value = column[0];
        for (int64_t i = 1; i < n && !std::isnan(value); ++i)
          if (!(column[i * inner] <= value)) {
            value = column[i * inner];
            best = i;
          }
        values[o * inner + j] = value;
        if (indices) indices[o * inner + j] = best;
      }
  });
}

template <class T>
void max_axis_backward(const T* dy, const int64_t* indices, int64_t outer,
                       int64_t n, int64_t inner, T* dx) {
  for_rows(outer, n * inner, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      T* block = dx + o * n * inner;
      std::fill_n(block, n * inner, T{0});
      for (int64_t j = 0; j < inner; ++j)
        block[indices[o * inner + j] * inner + j] = dy[o * inner + j];
    }
  });
}

template void sum_axis(const float*, int64_t, int64_t, int64_t, float*, float*);
template void sum_axis(const double*, int64_t, int64_t, int64_t, double*,
                       double*);
template void expand_axis(const float*, int64_t, int64_t, int64_t, float,
                          float*);
template void expand_axis(const double*, int64_t, int64_t, int64_t, double,
                          double*);
template void max_axis(const float*, int64_t, int64_t, int64_t, float*,
                       int64_t*);
template void max_axis(const double*, int64_t, int64_t, int64_t, double*,
                       int64_t*);
template void max_axis_backward(const float*, const int64_t*, int64_t, int64_t,
                                int64_t, float*);
template void max_axis_backward(const double*, const int64_t*, int64_t, int64_t,
                                int64_t, double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
