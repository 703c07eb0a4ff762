#include "kernels/elementwise/dropout.h"

#include <algorithm>
#include <cmath>

#include "kernels/cut.h"
#include "kernels/elementwise/philox_key.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/dropout.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

using U32 = hn::ScalableTag<std::uint32_t>;
using VecU = hn::Vec<U32>;

struct Product {  // the two halves of 32 × 32 bits
  VecU high, low;
};
HWY_INLINE Product multiply(VecU x, std::uint32_t factor) {
  const U32 d;
  const VecU f = hn::Set(d, factor);
  const VecU even = hn::BitCast(d, hn::MulEven(x, f));
  const VecU odd = hn::BitCast(d, hn::MulEven(hn::Shuffle2301(x), f));
  return {hn::OddEven(odd, hn::Shuffle2301(even)),
          hn::OddEven(hn::Shuffle2301(odd), even)};
}

// Philox 4x32-10 (core/philox.cc) on kLanes counters that follow one another
// from block `first`; out gets 4·kLanes numbers in order.
HWY_INLINE void philox_blocks(const PhiloxKey& key, std::uint64_t first,
                              std::uint32_t* out) {
  const U32 d;
  const auto low = static_cast<std::uint32_t>(first);
  const auto high = static_cast<std::uint32_t>(first >> 32);
  VecU c0 = hn::Add(hn::Set(d, low), hn::Iota(d, 0));
  // A lane that wrapped round carries into the high word.
  VecU c1 = hn::IfThenElse(hn::Lt(c0, hn::Set(d, low)), hn::Set(d, high + 1),
                           hn::Set(d, high));
  VecU c2 = hn::Set(d, key.counter2), c3 = hn::Set(d, key.counter3);
  std::uint32_t k0 = key.key0, k1 = key.key1;
  for (int round = 0; round < 10; ++round) {
    const Product p0 = multiply(c0, 0xD2511F53), p1 = multiply(c2, 0xCD9E8D57);
    c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(d, k0));
    c1 = p1.low;
    c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(d, k1));
    c3 = p0.low;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  hn::StoreInterleaved4(c0, c1, c2, c3, d, out);
}

// Keeps x[i] where the top 24 bits of number first + i are at least `limit`.
void dropout_block(const float* x, int64_t n, std::uint32_t limit, float factor,
                   const PhiloxKey& key, std::uint64_t first, float* y) {
  const U32 d;
  HWY_ALIGN std::uint32_t numbers[5 * kLanes];  // a vector of slack
  // Groups begin at multiples of four numbers; the first may begin earlier
  // than the elements do.
  auto skip = static_cast<int64_t>(first % 4);
  std::uint64_t block = first / 4;
  for (int64_t i = 0; i < n; block += kLanes) {
    philox_blocks(key, block, numbers);
    const int64_t count = std::min(4 * kLanes - skip, n - i);
    each(count, [&](int64_t j, auto lanes) QKV_INLINE_LAMBDA {
      const VecU bits = hn::ShiftRight<8>(hn::LoadU(d, numbers + skip + j));
      const auto keep =
          hn::RebindMask(F32(), hn::Not(hn::Lt(bits, hn::Set(d, limit))));
      const Vec scaled = hn::Mul(load(x + i + j, lanes), set(factor));
      store(hn::IfThenElseZero(keep, scaled), y + i + j, lanes);
    });
    i += count;
    skip = 0;
  }
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(dropout_block);

using std::int64_t;

constexpr int64_t kCost = 8;  // of an element: a quarter of ten Philox rounds

}  // namespace

template <class T>
void dropout(const T* x, int64_t n, double p, const StepRng& rng,
             std::uint64_t stream, int64_t first, T* y) {
  const T factor = static_cast<T>(1 / (1 - p));
  const PhiloxKey key = philox_key(rng, stream);
  // uniform is a multiple of 2⁻²⁴: it is below p when its multiple is below
  // this.
  const auto limit = static_cast<std::uint32_t>(std::ceil(p * 0x1p24));
  for_elements(n, kCost, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(dropout_block)(
            x + begin, end - begin, limit, factor, key,
            static_cast<std::uint64_t>(first + begin), y + begin);
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::uint64_t>(first + i);
      y[i] = rng.uniform(stream, index) < p ? T{0} : x[i] * factor;
    }
  });
}

template void dropout(const float*, int64_t, double, const StepRng&,
                      std::uint64_t, int64_t, float*);
template void dropout(const double*, int64_t, double, const StepRng&,
                      std::uint64_t, int64_t, double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
