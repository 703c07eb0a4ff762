// The arithmetic of one block of the tiled kernel: register-tiled products,
// copies and transpositions. Compiled once for each instruction set.
//
// Blocks are 64 queries by 64 keys. Queries lie in the lanes of the vectors, so
// scores are stored as (key, query): the softmax runs down the columns. Sums
// over keys and over queries are stored as (row, c), as the caller has them.

#if defined(QKV_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_ATTENTION_TILE_INL_H_
#undef QKV_ATTENTION_TILE_INL_H_
#else
#define QKV_ATTENTION_TILE_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>
//
#include "kernels/math-inl.h"
#include "kernels/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels {
namespace HWY_NAMESPACE {
namespace {

using std::int64_t;

inline constexpr int64_t kBlock = 64;
// Multiplications of queries by keys below which one thread does all: a
// parallel region costs about a microsecond.
inline constexpr int64_t kSerialWork = 32768;
inline constexpr F32 kTag;

// Head widths in scratch memory are rounded up to this, with zeros.
inline int64_t padded(int64_t width) { return (width + 15) / 16 * 16; }

// Rows that will be wanted soon, asked for a few at a time while products run:
// rows of a packed projection lie pages apart, no processor sees them coming.
class Ahead {
 public:
  explicit Ahead(int64_t width)
      : lines_(std::max<int64_t>((width + 15) / 16, 1)) {}
  void add(Rows rows, int64_t count) {
    if (next_ == size_) next_ = size_ = 0;
    if (size_ < kMost && count > 0) parts_[size_++] = {rows, count};
  }
  HWY_INLINE void step() {
    if (next_ < size_) fetch();
  }

 private:
  static constexpr int kMost = 16;
  static constexpr int64_t kLines = 16;  // asked for at once

  HWY_NOINLINE void fetch() {
    Part& part = parts_[next_];
    const int64_t count =
        std::min(part.count, std::max<int64_t>(kLines / lines_, 1));
    for (int64_t i = 0; i < count; ++i, part.rows.data += part.rows.stride)
      for (int64_t line = 0; line < lines_; ++line)
        hwy::Prefetch(part.rows.data + 16 * line);
    part.count -= count;
    if (part.count == 0) ++next_;
  }

  struct Part {
    Rows rows;
    int64_t count;
  };
  Part parts_[kMost];
  int next_ = 0, size_ = 0;
  int64_t lines_;
};

// What a product adds to: nothing, or C.
enum class Start { zero, sums };

// C(m,n) = start + Σ_k A(m,k)·B(k,n): kM rows by kN vectors; see add_products.
template <bool kAcross, int kM, int kN>
HWY_INLINE void register_tile(Rows a, Rows b, MutableRows c, int64_t depth,
                              Start start) {
  Vec sum[kM][kN];
  HWY_UNROLL(16)
  for (int m = 0; m < kM; ++m) {
    HWY_UNROLL(8)
    for (int n = 0; n < kN; ++n)
      sum[m][n] = start == Start::zero
                      ? hn::Zero(kTag)
                      : hn::Load(kTag, c.data + m * c.stride + n * kLanes);
  }
  add_products<kAcross, kM, kN>(a, b, depth, sum);
  HWY_UNROLL(16)
  for (int m = 0; m < kM; ++m) {
    HWY_UNROLL(8)
    for (int n = 0; n < kN; ++n)
      hn::Store(sum[m][n], kTag, c.data + m * c.stride + n * kLanes);
  }
}

template <bool kAcross, int kM, int kN>
void register_rows(Rows a, Rows b, MutableRows c, int64_t rows, int64_t depth,
                   Start start, Ahead& ahead) {
  int64_t m = 0;
  for (; m + kM <= rows; m += kM) {
    ahead.step();
    register_tile<kAcross, kM, kN>(
        {a.data + m * (kAcross ? 1 : a.stride), a.stride}, b,
        {c.data + m * c.stride, c.stride}, depth, start);
  }
  if constexpr (kM > 1)
    if (m < rows)
      register_rows<kAcross, kM / 2, kN>(
          {a.data + m * (kAcross ? 1 : a.stride), a.stride}, b,
          {c.data + m * c.stride, c.stride}, rows - m, depth, start, ahead);
}

// The same for any number of rows and of vectors of columns. Rows of b and c
// are aligned to a vector. Tiles of 4×4 vectors fill the 32 registers of
// AVX-512, 4×2 the 16 of AVX2; narrow ones are taller, to have eight sums or
// more on the way (two units, four cycles each).
template <bool kAcross>
void product(Rows a, Rows b, MutableRows c, int64_t rows, int64_t vectors,
             int64_t depth, Start start, Ahead& ahead) {
  constexpr int64_t kWidest = kLanes == 16 ? 4 : 2;
  for (int64_t n = 0; n < vectors; n += kWidest) {
    const int64_t at = n * kLanes;
    const auto run = [&]<int kM, int kN>() {
      register_rows<kAcross, kM, kN>(a, {b.data + at, b.stride},
                                     {c.data + at, c.stride}, rows, depth,
                                     start, ahead);
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

// to(i,c) = from(i,c), with zeros up to whole padded rows, and up to a multiple
// of 16 of them. Returns whether all numbers are finite (0·x is 0).
inline bool copy_rows(Rows from, int64_t count, int64_t width, float* to) {
  const int64_t wide = padded(width);
  Vec zeros = hn::Zero(kTag);
  for (int64_t i = 0; i < count; ++i, to += wide) {
    const float* row = from.data + i * from.stride;
    each(width, [&](int64_t c, auto lanes) QKV_INLINE_LAMBDA {
      const Vec x = load(row + c, lanes);
      hn::Store(x, kTag, to + c);
      zeros = hn::MulAdd(x, hn::Zero(kTag), zeros);
    });
    for (int64_t c = (width + kLanes - 1) / kLanes * kLanes; c < wide;
         c += kLanes)
      hn::Store(hn::Zero(kTag), kTag, to + c);
  }
  std::fill_n(to, (padded(count) - count) * wide, 0.0f);
  return hn::AllTrue(kTag, hn::Eq(zeros, hn::Zero(kTag)));
}

// to(i,c) = factor(i)·from(i,c), added to what is there when asked; from has
// padded rows.
template <class Factor>
HWY_INLINE void store_rows(const float* from, int64_t count, int64_t width,
                           Factor factor, bool add, MutableRows to) {
  const int64_t wide = padded(width);
  for (int64_t i = 0; i < count; ++i) {
    const Vec scale = set(factor(i));
    float* row = to.data + i * to.stride;
    each(width, [&](int64_t c, auto lanes) QKV_INLINE_LAMBDA {
      Vec x = hn::Mul(hn::Load(kTag, from + i * wide + c), scale);
      if (add) x = hn::Add(x, load(row + c, lanes));
      store(x, row + c, lanes);
    });
  }
}

// to[c·64 + i] = factor·from(i,c) for i < count, a multiple of 16, c < width.
inline void transpose_in(Rows from, int64_t count, int64_t width, float factor,
                         float* to) {
  const Vec factors = set(factor);
  for (int64_t i = 0; i < count; i += kLanes) {
    const float* row = from.data + i * from.stride;
    int64_t c = 0;
    for (; c + 4 <= width; c += 4) {
      Vec v[4];
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
}

// to(i,j) = from[j·64 + i].
inline void transpose_out(const float* from, int64_t count, int64_t width,
                          MutableRows to) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < width; ++j)
      to.data[i * to.stride + j] = from[j * kBlock + i];
}

template <class Tag>
HWY_INLINE hn::Vec<hn::CappedTag<float, 4>> sum_of_blocks(Tag, hn::Vec<Tag> v) {
  if constexpr (hn::MaxLanes(Tag()) == 4) {
    return v;
  } else {
    const hn::Half<Tag> half;
    return sum_of_blocks(
        half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// to[i] = Σ_c a(i,c)·b(i,c); zero up to a multiple of 4.
inline void row_products(Rows a, Rows b, int64_t count, int64_t width,
                         float* to) {
  for (int64_t i = 0; i < count; i += 4) {
    Vec v[4];
    HWY_UNROLL(4)
    for (int r = 0; r < 4; ++r) {
      v[r] = hn::Zero(kTag);
      if (i + r >= count) continue;
      const float* x = a.data + (i + r) * a.stride;
      const float* y = b.data + (i + r) * b.stride;
      each(width, [&](int64_t c, auto lanes) QKV_INLINE_LAMBDA {
        v[r] = hn::MulAdd(load(x + c, lanes), load(y + c, lanes), v[r]);
      });
    }
    transpose_blocks(v);
    hn::Store(
        sum_of_blocks(kTag, hn::Add(hn::Add(v[0], v[1]), hn::Add(v[2], v[3]))),
        hn::CappedTag<float, 4>(), to + i);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace qkv::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
