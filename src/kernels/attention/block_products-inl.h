// The products of one block, strip by strip, and their careful versions.
// Compiled once for each instruction set.
//
// Inside a strip a hidden pair has weight 0 and is multiplied in all the same:
// that changes nothing while the other factor is finite. A strip in which it is
// not takes the careful version, which skips hidden pairs; both add in the same
// order, so they agree to the bit.

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

// scores(key, query) = K·Qᵀ (+ bias); queries is (c, query).
inline void set_scores(const AttentionProblem<float>& problem, const Block& at,
                       const BlockMask& mask, const float* queries,
                       const float* bias, float* scores) {
  for (const Strip& strip : mask) {
    const int64_t first = strip.key * kBlock + strip.lane;
    product<false>(rows_of(problem.k, at, at.key + strip.key),
                   {queries + strip.lane, kBlock}, {scores + first, kBlock},
                   strip.keys, strip.vectors(), problem.shape.width,
                   Start::zero);
    if (!problem.mask.biased()) continue;
    for (int64_t j = 0; j < strip.keys; ++j)
      for (int64_t i = 0; i < strip.lanes; i += kLanes) {
        float* score = scores + first + j * kBlock + i;
        hn::Store(hn::Add(hn::Load(kTag, score),
                          hn::Load(kTag, bias + first + j * kBlock + i)),
                  kTag, score);
      }
  }
}

// out(c, query) = start + Σ_key x(key, c)·weights(key, query).
inline void add_over_keys(const HeadRows<const float>& x, int64_t width,
                          const Block& at, const BlockMask& mask,
                          const float* weights, float* out, Start start,
                          const float* factor) {
  for (const Strip& strip : mask) {
    const Rows rows = rows_of(x, at, at.key + strip.key);
    if (mask.full || all_finite(rows, strip.keys, width)) {
      product<true>(rows, {weights + strip.key * kBlock + strip.lane, kBlock},
                    {out + strip.lane, kBlock}, width, strip.vectors(),
                    strip.keys, start, factor);
      continue;
    }
    for (int64_t j = 0; j < strip.keys; ++j)
      for (int64_t i = strip.lane; i < strip.lane + strip.lanes; i += kLanes) {
        const auto seen = mask_at(mask.visible, strip.key + j, i);
        const Floats weight =
            hn::Load(kTag, weights + (strip.key + j) * kBlock + i);
        for (int64_t c = 0; c < width; ++c) {
          const Floats sum = hn::Load(kTag, out + c * kBlock + i);
          const Floats value = hn::Set(kTag, rows.data[j * rows.stride + c]);
          hn::Store(hn::IfThenElse(seen, hn::MulAdd(value, weight, sum), sum),
                    kTag, out + c * kBlock + i);
        }
      }
  }
}

// out(key, c) += Σ_query weights(key, query)·x(query, c); the rows of x and out
// are padded to whole vectors.
inline void add_over_queries(Rows x, bool x_finite, const Block& at,
                             const BlockMask& mask, const float* weights,
                             MutableRows out, int64_t vectors) {
  for (const Strip& strip : mask) {
    const int64_t queries =
        std::min(strip.lane + strip.lanes, at.queries) - strip.lane;
    if (mask.full || x_finite) {
      product<false>({weights + strip.key * kBlock + strip.lane, kBlock},
                     {x.data + strip.lane * x.stride, x.stride},
                     {out.data + strip.key * out.stride, out.stride},
                     strip.keys, vectors, queries, Start::add);
      continue;
    }
    for (int64_t j = strip.key; j < strip.key + strip.keys; ++j)
      for (std::uint64_t left = mask.visible[j]; left; left &= left - 1) {
        const int64_t i = std::countr_zero(left);
        const Floats weight = hn::Set(kTag, weights[j * kBlock + i]);
        for (int64_t c = 0; c < vectors * kLanes; c += kLanes) {
          float* sum = out.data + j * out.stride + c;
          hn::Store(
              hn::MulAdd(weight, hn::Load(kTag, x.data + i * x.stride + c),
                         hn::Load(kTag, sum)),
              kTag, sum);
        }
      }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace qkv::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
