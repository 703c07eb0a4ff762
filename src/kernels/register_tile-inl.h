// The sums of a matrix product in registers, and the pieces around them:
// matrices by pointer and stride, transpositions. A kernel includes it after
// its foreach_target.h; it repeats itself for each instruction set.
#if defined(QKV_KERNELS_REGISTER_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_KERNELS_REGISTER_TILE_INL_H_
#undef QKV_KERNELS_REGISTER_TILE_INL_H_
#else
#define QKV_KERNELS_REGISTER_TILE_INL_H_
#endif

#include <cstdint>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

// A matrix with rows `stride` apart.
struct Rows {
  const float* data;
  std::int64_t stride;
};
struct MutableRows {
  float* data;
  std::int64_t stride;
};

// Pointers into A: one for each row, or one in all.
template <bool kAcross, int kM>
inline constexpr int kPointers = 1 + (kAcross ? 0 : kM - 1);

// kSteps of the sums in registers: sum(m,n) += A(m,k)·B(k,n), and the pointers
// move on. Loops over registers are unrolled whole: arrays of vectors then live
// in registers. Moving pointers rather than products of strides: there are too
// few registers for those.
template <bool kAcross, int kM, int kN, int kSteps>
HWY_INLINE void register_steps(const float* (&a)[kPointers<kAcross, kM>],
                               std::int64_t a_stride, const float*& b,
                               std::int64_t b_stride, Vec (&sum)[kM][kN]) {
  HWY_UNROLL(4)
  for (int step = 0; step < kSteps; ++step) {
    Vec right[kN];
    HWY_UNROLL(8)
    for (int n = 0; n < kN; ++n) right[n] = hn::Load(F32(), b + n * kLanes);
    HWY_UNROLL(8)
    for (int m = 0; m < kM; ++m) {
      const Vec left = set(kAcross ? a[0][m] : a[m][step]);
      HWY_UNROLL(8)
      for (int n = 0; n < kN; ++n)
        sum[m][n] = hn::MulAdd(left, right[n], sum[m][n]);
    }
    if (kAcross) a[0] += a_stride;
    b += b_stride;
  }
  if (!kAcross) {
    HWY_UNROLL(8)
    for (int m = 0; m < kM; ++m) a[m] += kSteps;
  }
}

// sum(m,n) += Σ_k A(m,k)·B(k,n) over k < depth, in order: kM rows by kN
// vectors. A(m,k) is a[m·stride + k], or a[k·stride + m] when kAcross; rows of
// B are aligned to a vector. The k loop goes by four: its own instructions
// would cost a third of the speed.
template <bool kAcross, int kM, int kN>
HWY_INLINE void add_products(Rows a, Rows b, std::int64_t depth,
                             Vec (&sum)[kM][kN]) {
  const float* row[kPointers<kAcross, kM>];
  HWY_UNROLL(8)
  for (int m = 0; m < kPointers<kAcross, kM>; ++m)
    row[m] = a.data + m * a.stride;
  std::int64_t k = 0;
  for (; k + 4 <= depth; k += 4)
    register_steps<kAcross, kM, kN, 4>(row, a.stride, b.data, b.stride, sum);
  for (; k < depth; ++k)
    register_steps<kAcross, kM, kN, 1>(row, a.stride, b.data, b.stride, sum);
}

// Four vectors of four columns each, transposed within every 128-bit block:
// element c of block b of v[r] goes to element r of block b of v[c].
HWY_INLINE void transpose_blocks(Vec v[4]) {
  const F32 tag;
  const hn::RepartitionToWide<F32> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(tag, v[0], v[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(tag, v[2], v[3]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(tag, v[0], v[1]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(tag, v[2], v[3]));
  v[0] = hn::BitCast(tag, hn::InterleaveLower(pairs, low01, low23));
  v[1] = hn::BitCast(tag, hn::InterleaveUpper(pairs, low01, low23));
  v[2] = hn::BitCast(tag, hn::InterleaveLower(pairs, high01, high23));
  v[3] = hn::BitCast(tag, hn::InterleaveUpper(pairs, high01, high23));
}

// The first four columns of rows 0, 4, 8, …: one 128-bit block from each.
template <class Tag>
HWY_INLINE hn::Vec<Tag> load_blocks(Tag tag, Rows rows) {
  constexpr std::int64_t kCount = hn::MaxLanes(Tag());
  if constexpr (kCount == 4) {
    return hn::LoadU(tag, rows.data);
  } else {
    const hn::Half<Tag> half;
    const Rows upper{rows.data + kCount / 2 * rows.stride, rows.stride};
    return hn::Combine(tag, load_blocks(half, upper), load_blocks(half, rows));
  }
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the guard of each instruction set
