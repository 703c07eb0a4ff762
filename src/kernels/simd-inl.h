// Loops over arrays of f32 with Highway. A kernel includes it after its
// foreach_target.h; it repeats itself for each instruction set, hence the guard
// that toggles instead of #pragma once.
#if defined(QKV_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_KERNELS_SIMD_INL_H_
#undef QKV_KERNELS_SIMD_INL_H_
#else
#define QKV_KERNELS_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

// After the parameters of a lambda that a loop below calls.
#ifndef QKV_INLINE_LAMBDA
#define QKV_INLINE_LAMBDA HWY_ATTR __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
using Vec = hn::Vec<F32>;
using Mask = hn::Mask<F32>;
inline constexpr std::int64_t kLanes = HWY_LANES(float);

// Which lanes of a vector a loop step works on: all, or the first few.
struct Whole {};
struct Part {
  Mask lanes;
};
HWY_INLINE Vec load(const float* from, Whole) { return hn::LoadU(F32(), from); }
HWY_INLINE Vec load(const float* from, Part part) {  // other lanes 0
  return hn::MaskedLoad(part.lanes, F32(), from);
}
HWY_INLINE void store(Vec v, float* to, Whole) { hn::StoreU(v, F32(), to); }
HWY_INLINE void store(Vec v, float* to, Part part) {
  hn::BlendedStore(v, part.lanes, F32(), to);
}
HWY_INLINE Vec or_else(Vec v, Vec, Whole) { return v; }
HWY_INLINE Vec or_else(Vec v, Vec other, Part part) {
  return hn::IfThenElse(part.lanes, v, other);
}
HWY_INLINE Part first_lanes(std::int64_t n) {
  return {hn::FirstN(F32(), static_cast<std::size_t>(n))};
}
HWY_INLINE Vec set(float value) { return hn::Set(F32(), value); }

// step(i, lanes) for the vectors that cover [0, n).
template <class Step>
HWY_INLINE void each(std::int64_t n, Step step) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) step(i, Whole{});
  if (i < n) step(i, first_lanes(n - i));
}

// start ∘ value(i, lanes) ∘ … over [0, n), in four independent chains of
// vectors; returned as one vector of partial results. The order depends on n
// and the instruction set alone.
template <class Value, class Join>
HWY_INLINE Vec reduce(std::int64_t n, Vec start, Value value, Join join) {
  Vec v0 = start, v1 = start, v2 = start, v3 = start;
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    v0 = join(v0, value(i, Whole{}));
    v1 = join(v1, value(i + kLanes, Whole{}));
    v2 = join(v2, value(i + 2 * kLanes, Whole{}));
    v3 = join(v3, value(i + 3 * kLanes, Whole{}));
  }
  for (; i + kLanes <= n; i += kLanes) v0 = join(v0, value(i, Whole{}));
  if (i < n) {
    const Part rest = first_lanes(n - i);
    v1 = join(v1, or_else(value(i, rest), start, rest));
  }
  return join(join(v0, v1), join(v2, v3));
}

// Σ value(i, lanes) over [0, n).
template <class Value>
HWY_INLINE float sum_of(std::int64_t n, Value value) {
  const Vec total =
      reduce(n, hn::Zero(F32()), value,
             [](Vec a, Vec b) QKV_INLINE_LAMBDA { return hn::Add(a, b); });
  return hn::GetLane(hn::SumOfLanes(F32(), total));
}

// The largest of x[0, n), n >= 1. A NaN may be passed over.
HWY_INLINE float max_of(const float* x, std::int64_t n) {
  const Vec max = reduce(
      n, set(x[0]),
      [&](std::int64_t i, auto lanes)
          QKV_INLINE_LAMBDA { return load(x + i, lanes); },
      [](Vec a, Vec b) QKV_INLINE_LAMBDA { return hn::Max(a, b); });
  return hn::GetLane(hn::MaxOfLanes(F32(), max));
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the guard of each instruction set
