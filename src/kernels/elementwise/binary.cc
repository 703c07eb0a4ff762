#include "kernels/elementwise/binary.h"

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/binary.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

// One row; a step of 0 repeats that operand's one value.
template <class F>
HWY_INLINE void row_of(const float* a, int64_t step_a, const float* b,
                       int64_t step_b, int64_t n, float* out, F f) {
  if (step_a == 1 && step_b == 1)
    each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      store(f(load(a + i, lanes), load(b + i, lanes)), out + i, lanes);
    });
  else if (step_a == 1)
    each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      store(f(load(a + i, lanes), set(b[0])), out + i, lanes);
    });
  else
    each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
      store(f(set(a[0]), load(b + i, lanes)), out + i, lanes);
    });
}

// step_a and step_b are 0 or 1, at least one of them 1.
void binary_row(Binary op, const float* a, int64_t step_a, const float* b,
                int64_t step_b, int64_t n, float* out) {
  if (op == Binary::add)
    row_of(a, step_a, b, step_b, n, out,
           [](Vec x, Vec y) QKV_INLINE_LAMBDA { return hn::Add(x, y); });
  else
    row_of(a, step_a, b, step_b, n, out,
           [](Vec x, Vec y) QKV_INLINE_LAMBDA { return hn::Mul(x, y); });
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(binary_row);

using std::int64_t;

template <class T>
void row(Binary op, const T* a, int64_t step_a, const T* b, int64_t step_b,
         int64_t n, T* out) {
  const bool plain = step_a >= 0 && step_a <= 1 && step_b >= 0 && step_b <= 1 &&
                     step_a + step_b > 0;
  if constexpr (std::is_same_v<T, float>)
    if (plain && use_fast<T>())
      return HWY_DYNAMIC_DISPATCH(binary_row)(op, a, step_a, b, step_b, n, out);
  if (op == Binary::add)
    for (int64_t i = 0; i < n; ++i) out[i] = a[i * step_a] + b[i * step_b];
  else
    for (int64_t i = 0; i < n; ++i) out[i] = a[i * step_a] * b[i * step_b];
}

}  // namespace

template <class T>
void binary(Binary op, const Layout& layout, const T* a, const T* b, T* out) {
  const Layout loop = collapse(layout);
  if (loop.numel() == 0) return;
  if (loop.rank == 0) return row(op, a, 0, b, 0, 1, out);
  const int last = loop.rank - 1;
  const int64_t n = loop.size[last], step_a = loop.a[last],
                step_b = loop.b[last];
  if (loop.rank == 1)
    return for_elements(n, 1, [&](int64_t begin, int64_t end) {
      row(op, a + begin * step_a, step_a, b + begin * step_b, step_b,
          end - begin, out + begin);
    });
  for_rows(loop.numel() / n, n, [&](int64_t begin, int64_t end) {
    Walk at(loop, 1, begin);
    for (int64_t r = begin; r < end; ++r, at.next())
      row(op, a + at.a, step_a, b + at.b, step_b, n, out + r * n);
  });
}

template void binary(Binary, const Layout&, const float*, const float*, float*);
template void binary(Binary, const Layout&, const double*, const double*,
                     double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
