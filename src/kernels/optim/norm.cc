#include "kernels/optim/norm.h"

#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optim/norm.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

// Σ x² in double.
double sum_of_squares_block(const float* x, int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;  // as many floats
  constexpr int64_t kStep = kLanes / 2;
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
    const auto v0 = hn::PromoteTo(d, hn::LoadU(half, x + i));
    const auto v1 = hn::PromoteTo(d, hn::LoadU(half, x + i + kStep));
    const auto v2 = hn::PromoteTo(d, hn::LoadU(half, x + i + 2 * kStep));
    const auto v3 = hn::PromoteTo(d, hn::LoadU(half, x + i + 3 * kStep));
    s0 = hn::MulAdd(v0, v0, s0);
    s1 = hn::MulAdd(v1, v1, s1);
    s2 = hn::MulAdd(v2, v2, s2);
    s3 = hn::MulAdd(v3, v3, s3);
  }
  double rest = 0;
  for (; i < n; ++i)
    rest += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const auto sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  return hn::GetLane(hn::SumOfLanes(d, sum)) + rest;
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(sum_of_squares_block);

}  // namespace

template <class T>
double sum_of_squares(const T* x, std::int64_t n) {
  if constexpr (std::is_same_v<T, float>)
    if (use_fast<T>()) return HWY_DYNAMIC_DISPATCH(sum_of_squares_block)(x, n);
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<double>(x[i]);
    sum += value * value;
  }
  return sum;
}

template double sum_of_squares(const float*, std::int64_t);
template double sum_of_squares(const double*, std::int64_t);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
