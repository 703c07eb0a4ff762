#include "kernels/elementwise/finite.h"

#include <atomic>
#include <cmath>

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/finite.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

// Whether there is no NaN and no infinity.
bool all_finite(const float* x, int64_t n) {
  Vec worst = hn::Zero(F32());
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    // 0·x is 0 or -0 unless x is NaN or infinite: then NaN, which stays.
    worst = hn::MulAdd(hn::Zero(F32()), load(x + i, lanes), worst);
  });
  return hn::AllTrue(F32(), hn::Eq(worst, worst));
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(all_finite);

}  // namespace

using std::int64_t;

template <class T>
int64_t first_nonfinite(const T* x, int64_t n) {
  std::atomic<int64_t> first{n};
  for_elements(n, 1, [&](int64_t begin, int64_t end) {
    if (begin >= first.load(std::memory_order_relaxed)) return;
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>() &&
          HWY_DYNAMIC_DISPATCH(all_finite)(x + begin, end - begin))
        return;
    for (int64_t i = begin; i < end; ++i)
      if (!std::isfinite(x[i])) {
        int64_t known = first.load(std::memory_order_relaxed);
        while (i < known && !first.compare_exchange_weak(known, i)) {
        }
        return;
      }
  });
  return first == n ? -1 : first.load();
}

template int64_t first_nonfinite(const float*, int64_t);
template int64_t first_nonfinite(const double*, int64_t);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
