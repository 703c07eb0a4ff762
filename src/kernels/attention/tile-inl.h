// The arithmetic of one block of the tiled kernel: register-tiled products, the
// exponential, transpositions. Compiled once for each instruction set.
//
// Blocks are 64 queries by 64 keys. Queries lie in the lanes of the vectors, so
// scores are stored as (key, query): keys and values are then read as scalars,
// straight from the caller's rows, and the softmax runs down the columns.

#if defined(QKV_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_ATTENTION_TILE_INL_H_
#undef QKV_ATTENTION_TILE_INL_H_
#else
#define QKV_ATTENTION_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;
using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;

inline constexpr int64_t kBlock = 64;
// Multiplications of queries by keys below which one thread does all: a
// parallel region costs about a microsecond.
inline constexpr int64_t kSerialWork = 32768;
inline constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(float);
inline constexpr FloatTag kTag;

// A matrix with rows `stride` apart.
struct Rows {
  const float* data;
  int64_t stride;
};
struct MutableRows {
  float* data;
  int64_t stride;
};

// What a product adds to: nothing, C, or C times a factor for each column.
enum class Start { zero, add, scaled };

// kSteps of the sums in registers: sum(m,n) += A(m,k)·B(k,n), and the pointers
// move on. `a` is kM rows, or one when kAcross: see register_tile. Loops over
// registers are unrolled whole: arrays of vectors then live in registers.
// Moving pointers rather than products of strides: there are too few registers
// for those.
// Pointers into A: one for each row, or one in all.
template <bool kAcross, int kM>
inline constexpr int kPointers = 1 + (kAcross ? 0 : kM - 1);

template <bool kAcross, int kM, int kN, int kSteps>
HWY_INLINE void register_steps(const float* (&a)[kPointers<kAcross, kM>],
                               int64_t a_stride, const float*& b,
                               int64_t b_stride, Floats (&sum)[kM][kN]) {
  HWY_UNROLL(4)
  for (int step = 0; step < kSteps; ++step) {
    Floats right[kN];
    HWY_UNROLL(8)
    for (int n = 0; n < kN; ++n) right[n] = hn::Load(kTag, b + n * kLanes);
    HWY_UNROLL(8)
    for (int m = 0; m < kM; ++m) {
      const Floats left = hn::Set(kTag, kAcross ? a[0][m] : a[m][step]);
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

// C(m,n) = start + Σ_k A(m,k)·B(k,n), k in order, in registers: kM rows by kN
// vectors. A(m,k) is a[m·stride + k], or a[k·stride + m] when kAcross. The k
// loop goes by four: its own instructions would cost a third of the speed.
template <bool kAcross, int kM, int kN>
HWY_INLINE void register_tile(Rows a, Rows b, MutableRows c, int64_t depth,
                              Start start, const float* factor) {
  Floats sum[kM][kN];
  HWY_UNROLL(8)
  for (int m = 0; m < kM; ++m) {
    HWY_UNROLL(8)
    for (int n = 0; n < kN; ++n) {
      sum[m][n] = hn::Zero(kTag);
      if (start == Start::zero) continue;
      sum[m][n] = hn::Load(kTag, c.data + m * c.stride + n * kLanes);
      if (start == Start::scaled)
        sum[m][n] = hn::Mul(sum[m][n], hn::Load(kTag, factor + n * kLanes));
    }
  }
  const float* row[kPointers<kAcross, kM>];
  HWY_UNROLL(8)
  for (int m = 0; m < kPointers<kAcross, kM>; ++m)
    row[m] = a.data + m * a.stride;
  const float* bk = b.data;
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4)
    register_steps<kAcross, kM, kN, 4>(row, a.stride, bk, b.stride, sum);
  for (; k < depth; ++k)
    register_steps<kAcross, kM, kN, 1>(row, a.stride, bk, b.stride, sum);
  HWY_UNROLL(8)
  for (int m = 0; m < kM; ++m) {
    HWY_UNROLL(8)
    for (int n = 0; n < kN; ++n)
      hn::Store(sum[m][n], kTag, c.data + m * c.stride + n * kLanes);
  }
}

template <bool kAcross, int kM, int kN>
void register_rows(Rows a, Rows b, MutableRows c, int64_t rows, int64_t depth,
                   Start start, const float* factor) {
  int64_t m = 0;
  for (; m + kM <= rows; m += kM)
    register_tile<kAcross, kM, kN>(
        {a.data + m * (kAcross ? 1 : a.stride), a.stride}, b,
        {c.data + m * c.stride, c.stride}, depth, start, factor);
  if constexpr (kM > 1)
    if (m < rows)
      register_rows<kAcross, kM / 2, kN>(
          {a.data + m * (kAcross ? 1 : a.stride), a.stride}, b,
          {c.data + m * c.stride, c.stride}, rows - m, depth, start, factor);
}

// The same for any number of rows and of vectors of columns. b, c and factor
// are aligned to a vector. Tiles of 4×4 vectors fill the 32 registers of
// AVX-512, 4×2 the 16 of AVX2; narrow ones are taller, to have eight sums or
// more on the way (two units, four cycles each).
template <bool kAcross>
void product(Rows a, Rows b, MutableRows c, int64_t rows, int64_t vectors,
             int64_t depth, Start start, const float* factor = nullptr) {
  constexpr int64_t kWidest = kLanes == 16 ? 4 : 2;
  for (int64_t n = 0; n < vectors; n += kWidest) {
    const int64_t at = n * kLanes;
    const auto run = [&]<int kM, int kN>() {
      register_rows<kAcross, kM, kN>(a, {b.data + at, b.stride},
                                     {c.data + at, c.stride}, rows, depth,
                                     start, factor ? factor + at : nullptr);
    };
    const int64_t left = std::min(vectors - n, kWidest);
    if constexpr (kWidest == 4) {
      if (left >= 3) {
        left == 4 ? run.template operator()<4, 4>()
                  : run.template operator()<4, 3>();
        continue;
      }
    }
    left == 2 ? run.template operator()<kWidest == 4 ? 8 : 4, 2>()
              : run.template operator()<8, 1>();
  }
}

// 2^x for x <= 0 (a little above does no harm). Rounding to the nearest whole n
// by adding 1.5·2²³ leaves n in the low bits; the 127 in the same constant
// makes them the exponent of 2^n. 2^(x-n) by a polynomial of degree 5 with
// value 1 at 0, its largest relative error least (Lawson's iteration): 1.7e-7
// with rounding. Below 2^-100 the result is 0, so that no product with it
// becomes denormal. NaN stays NaN: it compares false, and the polynomial
// carries it.
HWY_INLINE Floats exp2_of(Floats x) {
  const auto magic = hn::Set(kTag, 12582912.0f + 127.0f);
  const auto shifted = hn::Add(x, magic);
  const auto f = hn::Sub(x, hn::Sub(shifted, magic));
  auto p = hn::Set(kTag, 0x1.5bba14p-10f);
  p = hn::MulAdd(p, f, hn::Set(kTag, 0x1.3cea88p-7f));
  p = hn::MulAdd(p, f, hn::Set(kTag, 0x1.c6b752p-5f));
  p = hn::MulAdd(p, f, hn::Set(kTag, 0x1.ebf9bcp-3f));
  p = hn::MulAdd(p, f, hn::Set(kTag, 0x1.62e42ap-1f));
  p = hn::MulAdd(p, f, hn::Set(kTag, 1.0f));
  const hn::RebindToUnsigned<FloatTag> bits;
  const auto power =
      hn::BitCast(kTag, hn::ShiftLeft<23>(hn::BitCast(bits, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(kTag, -100.0f)),
                            hn::Mul(p, power));
}

// Four vectors of four columns each, transposed within every 128-bit block:
// element c of block b of v[r] goes to element r of block b of v[c].
HWY_INLINE void transpose_blocks(Floats v[4]) {
  const hn::RepartitionToWide<FloatTag> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(kTag, v[0], v[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(kTag, v[2], v[3]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(kTag, v[0], v[1]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(kTag, v[2], v[3]));
  v[0] = hn::BitCast(kTag, hn::InterleaveLower(pairs, low01, low23));
  v[1] = hn::BitCast(kTag, hn::InterleaveUpper(pairs, low01, low23));
  v[2] = hn::BitCast(kTag, hn::InterleaveLower(pairs, high01, high23));
  v[3] = hn::BitCast(kTag, hn::InterleaveUpper(pairs, high01, high23));
}

// The first four columns of rows 0, 4, 8, …: one 128-bit block from each.
template <class Tag>
HWY_INLINE hn::Vec<Tag> load_blocks(Tag tag, Rows rows) {
  constexpr int64_t kCount = hn::MaxLanes(Tag());
  if constexpr (kCount == 4) {
    return hn::LoadU(tag, rows.data);
  } else {
    const hn::Half<Tag> half;
    const Rows upper{rows.data + kCount / 2 * rows.stride, rows.stride};
    return hn::Combine(tag, load_blocks(half, upper), load_blocks(half, rows));
  }
}

// to[c·64 + i] = factor·from(i,c) for c < width; to is padded with zeros to a
// whole number of 16 queries.
inline void transpose_in(Rows from, int64_t count, int64_t width, float factor,
                         float* to) {
  const Floats factors = hn::Set(kTag, factor);
  const int64_t padded = (count + 15) / 16 * 16;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const float* row = from.data + i * from.stride;
    int64_t c = 0;
    for (; c + 4 <= width; c += 4) {
      Floats v[4];
      HWY_UNROLL(4)
      for (int r = 0; r < 4; ++r)
        v[r] = load_blocks(kTag, {row + r * from.stride + c, from.stride});
      transpose_blocks(v);
      HWY_UNROLL(4)
      for (int r = 0; r < 4; ++r)
        hn::Store(hn::Mul(v[r], factors), kTag, to + (c + r) * kBlock + i);
    }
    for (; c < width; ++c)
      for (int64_t r = 0; r < kLanes; ++r)
        to[c * kBlock + i + r] = factor * row[r * from.stride + c];
  }
  if (i == padded) return;
  for (int64_t c = 0; c < width; ++c)
    for (int64_t r = i; r < padded; ++r)
      to[c * kBlock + r] =
          r < count ? factor * from.data[r * from.stride + c] : 0.0f;
}

// to(i,c) = factor[i]·from[c·64 + i], added to what is there when asked.
inline void transpose_out(const float* from, int64_t count, int64_t width,
                          const float* factor, bool add, MutableRows to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Floats factors = hn::Load(kTag, factor + i);
    float* row = to.data + i * to.stride;
    int64_t c = 0;
    for (; c + 4 <= width; c += 4) {
      Floats v[4];
      HWY_UNROLL(4)
      for (int r = 0; r < 4; ++r)
        v[r] = hn::Mul(hn::Load(kTag, from + (c + r) * kBlock + i), factors);
      transpose_blocks(v);
      HWY_UNROLL(4)
      for (int r = 0; r < 4; ++r) {
        float* first = row + r * to.stride + c;
        if (add) v[r] = hn::Add(v[r], load_blocks(kTag, {first, to.stride}));
        HWY_ALIGN float blocks[kLanes];
        hn::Store(v[r], kTag, blocks);
        for (int64_t b = 0; b < kLanes / 4; ++b)
          std::memcpy(first + 4 * b * to.stride, blocks + 4 * b,
                      4 * sizeof(float));
      }
    }
    for (; c < width; ++c)
      for (int64_t r = 0; r < kLanes; ++r) {
        float& x = row[r * to.stride + c];
        x = from[c * kBlock + i + r] * factor[i + r] + (add ? x : 0.0f);
      }
  }
  for (; i < count; ++i)
    for (int64_t c = 0; c < width; ++c) {
      float& x = to.data[i * to.stride + c];
      x = from[c * kBlock + i] * factor[i] + (add ? x : 0.0f);
    }
}

// Σ_c a[c]·b[c].
HWY_INLINE float dot(const float* a, const float* b, int64_t width) {
  Floats sum = hn::Zero(kTag);
  int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes)
    sum = hn::MulAdd(hn::LoadU(kTag, a + c), hn::LoadU(kTag, b + c), sum);
  if (c < width) {
    const auto rest = hn::FirstN(kTag, static_cast<size_t>(width - c));
    sum = hn::MulAdd(hn::MaskedLoad(rest, kTag, a + c),
                     hn::MaskedLoad(rest, kTag, b + c), sum);
  }
  return hn::GetLane(hn::SumOfLanes(kTag, sum));
}

// Whether all numbers of the rows are finite (0·x is 0).
inline bool all_finite(Rows rows, int64_t count, int64_t width) {
  Floats zeros = hn::Zero(kTag);
  for (int64_t i = 0; i < count; ++i) {
    const float* row = rows.data + i * rows.stride;
    int64_t c = 0;
    for (; c + kLanes <= width; c += kLanes)
      zeros = hn::MulAdd(hn::LoadU(kTag, row + c), hn::Zero(kTag), zeros);
    if (c < width)
      zeros = hn::MulAdd(
          hn::MaskedLoad(hn::FirstN(kTag, static_cast<size_t>(width - c)), kTag,
                         row + c),
          hn::Zero(kTag), zeros);
  }
  return hn::AllTrue(kTag, hn::Eq(zeros, hn::Zero(kTag)));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace qkv::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
