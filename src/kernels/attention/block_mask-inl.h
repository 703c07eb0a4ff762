// What one block of 64 queries by 64 keys may see, as bits; whatever the kind
// of mask, the kernel works from these. Compiled once for each instruction set.

#if defined(QKV_ATTENTION_BLOCK_MASK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_ATTENTION_BLOCK_MASK_INL_H_
#undef QKV_ATTENTION_BLOCK_MASK_INL_H_
#else
#define QKV_ATTENTION_BLOCK_MASK_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/attention/attention.h"
#include "kernels/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels {
namespace HWY_NAMESPACE {
namespace {

// Where a block lies.
struct Block {
  int64_t b, h;
  int64_t query, queries;  // the first, and how many (1 … 64)
  int64_t key, keys;       // the same of keys; none beyond a sequence's length

  // Queries rounded up to whole strips.
  int64_t lanes() const { return (queries + 15) / 16 * 16; }
};

// A part of a block outside which nothing is seen; its keys begin at multiples
// of 16, its lanes (queries) begin and end there.
struct Strip {
  int64_t key, keys;
  int64_t lane, lanes;

  int64_t vectors() const { return lanes / kLanes; }
  bool covers(int64_t i) const { return lane <= i && i < lane + lanes; }
};

struct BlockMask {
  bool full;        // each query sees each key; one strip
  int strip_count;  // 0 when nothing is seen
  Strip strips[4];
  // Bit i of [j]: query i sees key j; dropout keeps the pair. One more than
  // there are, because vectors of bits are read eight bytes at a time.
  std::uint64_t visible[kBlock + 1];
  std::uint64_t keep[kBlock + 1];

  void set_full(const Block& at) {
    full = true;
    strip_count = 1;
    strips[0] = {0, at.keys, 0, at.lanes()};
  }
  const Strip* begin() const { return strips; }
  const Strip* end() const { return strips + strip_count; }
};

HWY_INLINE Mask mask_at(const std::uint64_t* bits, int64_t j, int64_t i) {
  return hn::LoadMaskBits(
      kTag, reinterpret_cast<const std::uint8_t*>(bits + j) + i / 8);
}

// Bits [begin, end) of 64.
inline std::uint64_t bit_range(int64_t begin, int64_t end) {
  if (begin >= end) return 0;
  return (~std::uint64_t{0} >> (64 - (end - begin))) << begin;
}

inline void add_dense(const AttentionMask<float>& mask, const Block& at,
                      std::uint64_t* visible, float* bias) {
  for (int64_t i = 0; i < at.queries; ++i) {
    const int64_t first = mask.dense_at(at.b, at.h, at.query + i, at.key);
    const int64_t step = mask.dense_key;
    if (mask.dense_visible) {
      const std::uint8_t* row = mask.dense_visible + first;
      for (int64_t j = 0; j < at.keys; ++j)
        visible[j] &= ~(std::uint64_t{row[j * step] == 0} << i);
    } else {
      const float* row = mask.dense_bias + first;
      for (int64_t j = 0; j < at.keys; ++j) {
        const float x = row[j * step];
        visible[j] &=
            ~(std::uint64_t{x == -std::numeric_limits<float>::infinity()} << i);
        bias[j * kBlock + i] += x * kLog2E;
      }
    }
  }
}

// The block's keys that band and length leave to at least one of the queries
// first … first + count - 1 of it, and the other way round; maybe none, then
// begin is end.
inline KeyRange keys_in_block(const AttentionProblem<float>& problem,
                              const Block& at, int64_t first, int64_t count) {
  const KeyRange range = problem.mask.keys_of(
      problem.shape, at.b, at.query + first, at.query + first + count - 1);
  const int64_t begin = std::clamp<int64_t>(range.begin - at.key, 0, at.keys);
  return {begin, std::clamp(range.end - at.key, begin, at.keys)};
}
inline KeyRange queries_in_block(const AttentionProblem<float>& problem,
                                 const Block& at, int64_t first,
                                 int64_t count) {
  const AttentionMask<float>& m = problem.mask;
  if (!m.banded) return {0, at.queries};
  const int64_t diagonal =
      at.key + first - m.offset(problem.shape, at.b) - at.query;
  const int64_t begin = std::clamp<int64_t>(diagonal, 0, at.queries);
  return {begin,
          std::clamp(diagonal + count - 1 + m.window, begin, at.queries)};
}

// Strips of 16 keys with the lanes that see any, joined where they agree.
inline void cut_strips(const Block& at, BlockMask& mask) {
  mask.strip_count = 0;
  for (int64_t first = 0; first < at.keys; first += 16) {
    const int64_t keys = std::min<int64_t>(16, at.keys - first);
    std::uint64_t any = 0;
    for (int64_t j = first; j < first + keys; ++j) any |= mask.visible[j];
    if (any == 0) continue;
    const int64_t lane = std::countr_zero(any) / 16 * 16;
    const int64_t lanes = (64 - std::countl_zero(any) + 15) / 16 * 16 - lane;
    if (mask.strip_count > 0) {
      Strip& last = mask.strips[mask.strip_count - 1];
      if (last.key + last.keys == first && last.lane == lane &&
          last.lanes == lanes) {
        last.keys += keys;
        continue;
      }
    }
    mask.strips[mask.strip_count++] = {first, keys, lane, lanes};
  }
}

// Fills mask but for `keep` (and `visible` where it is full), and bias (key,
// query) where there is one.
inline void set_mask(const AttentionProblem<float>& problem, const Block& at,
                     BlockMask& mask, float* bias) {
  const AttentionMask<float>& m = problem.mask;
  const int64_t diagonal = m.offset(problem.shape, at.b);
  if (m.biased()) {
    const float slope = m.slopes ? m.slopes[at.h] * kLog2E : 0.0f;
    for (int64_t j = 0; j < at.keys; ++j) {
      const int64_t distance = at.query + diagonal - (at.key + j);
      for (int64_t i = 0; i < kBlock; ++i)
        bias[j * kBlock + i] =
            -slope * static_cast<float>(std::abs(distance + i));
    }
  }
  mask.full =
      !m.banded || (at.key + at.keys - 1 <= at.query + diagonal &&
                    at.key > at.query + at.queries - 1 + diagonal - m.window);
  if (mask.full && !m.dense()) {
    mask.set_full(at);
    return;
  }
  for (int64_t j = 0; j < at.keys; ++j) {
    // Queries at distance 0 … window - 1 from the key.
    const int64_t nearest = at.key + j - diagonal - at.query;
    mask.visible[j] = m.banded
                          ? bit_range(std::max<int64_t>(nearest, 0),
                                      std::min(nearest + m.window, at.queries))
                          : bit_range(0, at.queries);
  }
  cut_strips(at, mask);
  if (!m.dense()) return;
  add_dense(m, at, mask.visible, bias);
  const auto all = [&](std::uint64_t bits) {
    return std::all_of(mask.visible, mask.visible + at.keys,
                       [&](std::uint64_t x) { return x == bits; });
  };
  if (all(0)) mask.strip_count = 0;
  mask.full = all(bit_range(0, at.queries));
  if (mask.full) mask.set_full(at);
}

using WordTag = hn::RebindToUnsigned<F32>;
using Words = hn::Vec<WordTag>;

// The 64-bit products of the lanes with m, in halves.
HWY_INLINE void multiply_wide(Words x, Words m, Words& high, Words& low) {
  const hn::RepartitionToWide<WordTag> wide;
  const WordTag words;
  const auto even = hn::MulEven(x, m);
  const auto odd = hn::MulEven(
      hn::BitCast(words, hn::ShiftRight<32>(hn::BitCast(wide, x))), m);
  high = hn::OddEven(hn::BitCast(words, odd),
                     hn::BitCast(words, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(words, hn::ShiftLeft<32>(odd)),
                    hn::BitCast(words, even));
}

// StepRng::draw for a vector of blocks that differ in their lower word.
HWY_INLINE void draw_words(const AttentionDropout& dropout, Words index_low,
                           std::uint32_t index_high, Words out[4]) {
  const WordTag words;
  const auto low = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x);
  };
  const auto high = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x >> 32);
  };
  const StepRng& rng = dropout.rng;
  std::uint32_t key0 = low(rng.seed);
  std::uint32_t key1 = high(rng.seed) ^ high(rng.step);
  Words c0 = index_low;
  Words c1 = hn::Set(words, index_high);
  Words c2 = hn::Set(words, low(rng.step) ^ high(dropout.stream));
  Words c3 = hn::Set(words, low(dropout.stream));
  for (int round = 0; round < 10; ++round) {
    Words high0, low0, high1, low1;
    multiply_wide(c0, hn::Set(words, 0xD2511F53u), high0, low0);
    multiply_wide(c2, hn::Set(words, 0xCD9E8D57u), high1, low1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(words, key0));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(words, key1));
    c3 = low0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

// Fills mask.keep.
inline void draw_keep(const AttentionProblem<float>& problem, const Block& at,
                      BlockMask& mask) {
  const WordTag words;
  const hn::RebindToSigned<WordTag> numbers;
  const AttentionDropout& dropout = problem.dropout;
  const auto below =
      hn::Set(numbers, static_cast<std::int32_t>(dropout.threshold()) - 1);
  std::fill_n(mask.keep, kBlock, 0);
  for (int64_t j = 0; j < at.keys; j += 8) {
    const std::uint32_t high =
        AttentionDropout::block(problem.shape, at.b, at.h, at.key + j);
    for (int64_t i = 0; i < at.lanes(); i += kLanes) {
      Words drawn[4];
      draw_words(dropout,
                 hn::Iota(words, static_cast<std::uint32_t>(at.query + i)),
                 high, drawn);
      for (int w = 0; w < 4; ++w) {
        const Words halves[2] = {hn::And(drawn[w], hn::Set(words, 0xffffu)),
                                 hn::ShiftRight<16>(drawn[w])};
        for (int half = 0; half < 2; ++half) {
          alignas(8) std::uint8_t bytes[8] = {};
          hn::StoreMaskBits(numbers,
                            hn::Gt(hn::BitCast(numbers, halves[half]), below),
                            bytes);
          std::uint64_t bits;
          std::memcpy(&bits, bytes, sizeof(bits));
          mask.keep[j + 2 * w + half] |= bits << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace qkv::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
