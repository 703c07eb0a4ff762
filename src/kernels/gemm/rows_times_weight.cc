#include "kernels/gemm/rows_times_weight.h"

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/rows_times_weight.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

// y[r·stride] = x_r · w + bias for R rows of x at once. Each sum runs in four
// chains of vectors, the same for every R.
template <int R>
HWY_INLINE void dot_rows(const float* x, int64_t in, const float* w, float bias,
                         float* y, int64_t stride) {
  Vec sum[R][4];
  for (auto& row : sum)
    for (auto& chain : row) chain = hn::Zero(F32());
  int64_t i = 0;
  for (; i + 4 * kLanes <= in; i += 4 * kLanes)
    for (int c = 0; c < 4; ++c) {
      const Vec v = load(w + i + c * kLanes, Whole{});
      for (int r = 0; r < R; ++r)
        sum[r][c] = hn::MulAdd(load(x + r * in + i + c * kLanes, Whole{}), v,
                               sum[r][c]);
    }
  for (; i + kLanes <= in; i += kLanes)
    for (int r = 0; r < R; ++r)
      sum[r][0] = hn::MulAdd(load(x + r * in + i, Whole{}),
                             load(w + i, Whole{}), sum[r][0]);
  if (i < in) {
    const Part rest = first_lanes(in - i);
    for (int r = 0; r < R; ++r)
      sum[r][1] =
          hn::MulAdd(load(x + r * in + i, rest), load(w + i, rest), sum[r][1]);
  }
  for (int r = 0; r < R; ++r) {
    const Vec total =
        hn::Add(hn::Add(sum[r][0], sum[r][1]), hn::Add(sum[r][2], sum[r][3]));
    y[r * stride] = hn::GetLane(hn::SumOfLanes(F32(), total)) + bias;
  }
}

// Outputs [begin, end) of all rows.
void rows_times_weight_block(const float* x, int64_t rows, int64_t in,
                             const float* weight, int64_t begin, int64_t end,
                             int64_t out, const float* bias, float* y) {
  for (int64_t o = begin; o < end; ++o) {
    const float* w = weight + o * in;
    const float b = bias ? bias[o] : 0.0f;
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4)
      dot_rows<4>(x + r * in, in, w, b, y + r * out + o, out);
    for (; r < rows; ++r)
      dot_rows<1>(x + r * in, in, w, b, y + r * out + o, out);
  }
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(rows_times_weight_block);

}  // namespace

using std::int64_t;

template <class T>
void rows_times_weight(const T* x, int64_t rows, int64_t in, const T* weight,
                       int64_t out, const T* bias, T* y) {
  for_rows(out, rows * in, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(rows_times_weight_block)(
            x, rows, in, weight, begin, end, out, bias, y);
    for (int64_t o = begin; o < end; ++o)
      for (int64_t r = 0; r < rows; ++r) {
        T sum = 0;
        for (int64_t i = 0; i < in; ++i)
          sum += x[r * in + i] * weight[o * in + i];
        y[r * out + o] = bias ? sum + bias[o] : sum;
      }
  });
}

template void rows_times_weight(const float*, int64_t, int64_t, const float*,
                                int64_t, const float*, float*);
template void rows_times_weight(const double*, int64_t, int64_t, const double*,
                                int64_t, const double*, double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
