#include "kernels/elementwise/scale.h"

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/scale.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

void scale_block(const float* x, float factor, int64_t n, float* y) {
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    store(hn::Mul(set(factor), load(x + i, lanes)), y + i, lanes);
  });
}

void add_scaled_block(const float* x, float factor, int64_t n, float* y) {
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    const Vec product = hn::Mul(set(factor), load(x + i, lanes));
    store(hn::Add(load(y + i, lanes), product), y + i, lanes);
  });
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(scale_block);
HWY_EXPORT(add_scaled_block);

}  // namespace

using std::int64_t;

template <class T>
void scale(const T* x, T factor, int64_t n, T* y) {
  for_elements(n, 1, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(scale_block)(x + begin, factor, end - begin,
                                                 y + begin);
    for (int64_t i = begin; i < end; ++i) y[i] = factor * x[i];
  });
}

template <class T>
void add_scaled(const T* x, T factor, int64_t n, T* y) {
  for_elements(n, 1, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(add_scaled_block)(x + begin, factor,
                                                      end - begin, y + begin);
    for (int64_t i = begin; i < end; ++i) y[i] += factor * x[i];
  });
}

template void scale(const float*, float, int64_t, float*);
template void scale(const double*, double, int64_t, double*);
template void add_scaled(const float*, float, int64_t, float*);
template void add_scaled(const double*, double, int64_t, double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
