#include "kernels/peak/peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak/peak.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;

// Enough independent sums that two units of four cycles' latency never wait.
constexpr int kChains = 12;

double multiply_adds_rounds(std::int64_t rounds, float* sink) {
  using V = hn::Vec<F32>;
  const F32 tag;
  // Different, or the compiler would make one chain of them.
  V s0 = hn::Set(tag, 0.00f), s1 = hn::Set(tag, 0.01f);
  V s2 = hn::Set(tag, 0.02f), s3 = hn::Set(tag, 0.03f);
  V s4 = hn::Set(tag, 0.04f), s5 = hn::Set(tag, 0.05f);
  V s6 = hn::Set(tag, 0.06f), s7 = hn::Set(tag, 0.07f);
  V s8 = hn::Set(tag, 0.08f), s9 = hn::Set(tag, 0.09f);
  V s10 = hn::Set(tag, 0.10f), s11 = hn::Set(tag, 0.11f);
  const V a = hn::Set(tag, 0.999f), b = hn::Set(tag, 1e-3f);
  for (std::int64_t i = 0; i < rounds; ++i) {
    s0 = hn::MulAdd(s0, a, b), s1 = hn::MulAdd(s1, a, b);
    s2 = hn::MulAdd(s2, a, b), s3 = hn::MulAdd(s3, a, b);
    s4 = hn::MulAdd(s4, a, b), s5 = hn::MulAdd(s5, a, b);
    s6 = hn::MulAdd(s6, a, b), s7 = hn::MulAdd(s7, a, b);
    s8 = hn::MulAdd(s8, a, b), s9 = hn::MulAdd(s9, a, b);
    s10 = hn::MulAdd(s10, a, b), s11 = hn::MulAdd(s11, a, b);
  }
  const V sum = hn::Add(hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)),
                                hn::Add(hn::Add(s4, s5), hn::Add(s6, s7))),
                        hn::Add(hn::Add(s8, s9), hn::Add(s10, s11)));
  *sink = hn::GetLane(hn::SumOfLanes(tag, sum));
  return 2.0 * kChains * static_cast<double>(rounds) * HWY_LANES(float);
}

// Four streams at once: one alone leaves the memory waiting.
float sum_once(const float* from, std::int64_t n) {
  using V = hn::Vec<F32>;
  const F32 tag;
  constexpr std::int64_t kLanes = HWY_LANES(float);
  const std::int64_t part = n / 4 / kLanes * kLanes;
  V s0 = hn::Zero(tag), s1 = s0, s2 = s0, s3 = s0;
  for (std::int64_t i = 0; i < part; i += kLanes) {
    s0 = hn::Add(s0, hn::LoadU(tag, from + i));
    s1 = hn::Add(s1, hn::LoadU(tag, from + part + i));
    s2 = hn::Add(s2, hn::LoadU(tag, from + 2 * part + i));
    s3 = hn::Add(s3, hn::LoadU(tag, from + 3 * part + i));
  }
  float sum = hn::GetLane(
      hn::SumOfLanes(tag, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (std::int64_t i = 4 * part; i < n; ++i) sum += from[i];
  return sum;
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {

HWY_EXPORT(multiply_adds_rounds);
HWY_EXPORT(sum_once);

double multiply_adds(std::int64_t rounds, float* sink) {
  return HWY_DYNAMIC_DISPATCH(multiply_adds_rounds)(rounds, sink);
}

float sum_of(const float* from, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(sum_once)(from, n);
}

}  // namespace qkv::kernels
#endif  // HWY_ONCE
