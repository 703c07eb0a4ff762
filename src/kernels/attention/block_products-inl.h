// The products of one block and their careful versions. Compiled once for each
// instruction set.
//
// Between pairs that are seen, a hidden one has weight 0 and is multiplied in
// all the same: that changes nothing while the other factor is finite. A block
// in which it is not takes the careful version, which skips hidden pairs; both
// add in the same order, so they agree to the bit.

#if defined(QKV_ATTENTION_BLOCK_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_ATTENTION_BLOCK_PRODUCTS_INL_H_
#undef QKV_ATTENTION_BLOCK_PRODUCTS_INL_H_
#else
#define QKV_ATTENTION_BLOCK_PRODUCTS_INL_H_
#endif

#include "kernels/attention/block_mask-inl.h"
#include "kernels/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels {
namespace HWY_NAMESPACE {
namespace {

// Rows of x from position `row`, as the products read them.
inline Rows rows_of(const HeadRows<const float>& x, const Block& at,
                    int64_t row) {
  return {x.at(at.b, at.h, row), x.row};
}

// out(key, query) = Σ_c x(key, c)·lanes(c, query), where
// something is seen.
inline void set_products(Rows x, const float* lanes, int64_t width,
                         const BlockMask& mask, float* out, Ahead& ahead) {
  for (const Strip& strip : mask)
    product<false>({x.data + strip.key * x.stride, x.stride},
                   {lanes + strip.lane, kBlock},
                   {out + strip.key * kBlock + strip.lane, kBlock}, strip.keys,
                   strip.vectors(), width, Start::zero, ahead);
}

inline void add_bias(const BlockMask& mask, const float* bias, float* scores) {
  for (const Strip& strip : mask)
    for (int64_t j = strip.key; j < strip.key + strip.keys; ++j)
      for (int64_t i = strip.lane; i < strip.lane + strip.lanes; i += kLanes) {
        float* score = scores + j * kBlock + i;
        hn::Store(hn::Add(hn::Load(kTag, score),
                          hn::Load(kTag, bias + j * kBlock + i)),
                  kTag, score);
      }
}

// to += weight·from, `vectors` long.
HWY_INLINE void add_scaled(float weight, const float* from, int64_t vectors,
                           float* to) {
  for (int64_t c = 0; c < vectors * kLanes; c += kLanes)
    hn::Store(hn::MulAdd(set(weight), hn::Load(kTag, from + c),
                         hn::Load(kTag, to + c)),
              kTag, to + c);
}

// How many rows of a sum are computed together, from the range that any of
// them needs: what a register tile has.
inline int64_t rows_together(int64_t vectors) { return vectors > 2 ? 4 : 8; }

// The block's keys or queries, as (row, c) with padded rows.
struct BlockRows {
  Rows rows;
  bool finite;
};

// kOverKeys: out(query, c) += Σ_key weights(key, query)·x(key, c), else
// out(key, c) += Σ_query weights(key, query)·x(query, c). `first`: out holds
// nothing yet.
template <bool kOverKeys>
inline void add_over(const AttentionProblem<float>& problem, const BlockRows& x,
                     const Block& at, const BlockMask& mask,
                     const float* weights, bool first, MutableRows out,
                     Ahead& ahead) {
  const int64_t vectors = out.stride / kLanes;
  const Start start = first ? Start::zero : Start::sums;
  const int64_t rows = kOverKeys ? at.queries : at.keys;
  const int64_t depth = kOverKeys ? at.keys : at.queries;
  if (mask.full)
    return product<kOverKeys>({weights, kBlock}, x.rows, out, rows, vectors,
                              depth, start, ahead);
  if (x.finite) {
    const int64_t step = rows_together(vectors);
    for (int64_t i = 0; i < rows; i += step) {
      const int64_t count = std::min(step, rows - i);
      const KeyRange seen = kOverKeys ? keys_in_block(problem, at, i, count)
                                      : queries_in_block(problem, at, i, count);
      const int64_t from =
          kOverKeys ? seen.begin * kBlock + i : i * kBlock + seen.begin;
      product<kOverKeys>(
          {weights + from, kBlock},
          {x.rows.data + seen.begin * x.rows.stride, x.rows.stride},
          {out.data + i * out.stride, out.stride}, count, vectors,
          seen.end - seen.begin, start, ahead);
    }
    return;
  }
  if (first) std::fill_n(out.data, rows * out.stride, 0.0f);
  for (int64_t j = 0; j < at.keys; ++j)
    for (std::uint64_t left = mask.visible[j]; left; left &= left - 1) {
      const int64_t i = std::countr_zero(left);
      const int64_t read = kOverKeys ? j : i, written = kOverKeys ? i : j;
      add_scaled(weights[j * kBlock + i], x.rows.data + read * x.rows.stride,
                 vectors, out.data + written * out.stride);
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace qkv::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
