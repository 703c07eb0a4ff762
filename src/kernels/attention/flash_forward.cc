// The tiled forward: for 64 queries at a time, one pass over the keys with a
// running maximum and sum (online softmax: Milakov & Gimelshein 2018; Dao et
// al. 2022).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/flash_forward.cc"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include <hwy/highway.h>

#include "core/parallel.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/block_mask-inl.h"
#include "kernels/attention/block_products-inl.h"
#include "kernels/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels {
namespace HWY_NAMESPACE {
namespace {

// A worker's memory, in floats: queries as (c, query), the sum of weighted
// values as (query, c) with padded rows, scores and bias as (key, query),
// values of the block's keys as (key, c).
struct ForwardScratch {
  ForwardScratch(const AttentionShape& s, void* workspace, int worker)
      : queries(static_cast<float*>(workspace) + worker * floats(s)),
        out(queries + padded(s.width) * kBlock),
        values(out + padded(s.width) * kBlock),
        scores(values + padded(s.width) * kBlock),
        bias(scores + kBlock * kBlock) {}
  static int64_t floats(const AttentionShape& s) {
    return 3 * padded(s.width) * kBlock + 2 * kBlock * kBlock;
  }

  float *queries, *out, *values, *scores, *bias;
};

// The softmax of 64 rows so far. Scores are taken from a base that follows
// their maximum only when that has grown by more than kSlack: exponentials up
// to 2^kSlack do no harm, and what was summed need not be scaled again.
constexpr float kSlack = 8;
struct RunningSoftmax {
  HWY_ALIGN float base[kBlock] = {};
  HWY_ALIGN float limit[kBlock];  // base + kSlack; -infinity: nothing seen
  HWY_ALIGN float sum[kBlock] = {};
  HWY_ALIGN float factor[kBlock];  // what a new base scales the past by
  bool rescale = false;            // whether there is a factor beside 1
  std::uint64_t seen = 0;          // bit i: query i has seen a key

  RunningSoftmax() {
    std::fill_n(limit, kBlock, -std::numeric_limits<float>::infinity());
  }
};

// The largest of a column of scores. Four maxima run side by side.
template <bool kMasked>
HWY_INLINE Vec column_max(const BlockMask& mask, const Strip& strip,
                          const float* scores, int64_t i, Vec max) {
  const Vec least = set(-std::numeric_limits<float>::infinity());
  const auto at = [&](int64_t j) QKV_INLINE_LAMBDA {
    const Vec s = hn::Load(kTag, scores + j * kBlock + i);
    return kMasked ? hn::IfThenElse(mask_at(mask.visible, j, i), s, least) : s;
  };
  Vec m[4] = {max, least, least, least};
  int64_t j = strip.key;
  const int64_t end = strip.key + strip.keys;
  for (; j + 4 <= end; j += 4)
    for (int a = 0; a < 4; ++a) m[a] = hn::Max(m[a], at(j + a));
  for (; j < end; ++j) m[0] = hn::Max(m[0], at(j));
  return hn::Max(hn::Max(m[0], m[1]), hn::Max(m[2], m[3]));
}

// Scores to exponentials beside the base, in place. Adds them to sum, before
// dropout.
template <bool kMasked, bool kDropout>
HWY_INLINE Vec column_exp(const BlockMask& mask, const Strip& strip,
                          float* scores, int64_t i, Vec base, Vec sum) {
  for (int64_t j = strip.key; j < strip.key + strip.keys; ++j) {
    float* score = scores + j * kBlock + i;
    Vec p = exp2_of(hn::Sub(hn::Load(kTag, score), base));
    if (kMasked) p = hn::IfThenElseZero(mask_at(mask.visible, j, i), p);
    sum = hn::Add(sum, p);
    if (kDropout) p = hn::IfThenElseZero(mask_at(mask.keep, j, i), p);
    hn::Store(p, kTag, score);
  }
  return sum;
}

// Scores to exponentials beside the base, which is moved where it must be.
template <bool kMasked, bool kDropout>
void fold_in(const Block& at, const BlockMask& mask, float* scores,
             RunningSoftmax& softmax) {
  const Vec least = set(-std::numeric_limits<float>::infinity());
  softmax.rescale = false;
  for (int64_t i = 0; i < at.lanes(); i += kLanes) {
    Vec max = least;
    for (const Strip& strip : mask)
      if (strip.covers(i))
        max = column_max<kMasked>(mask, strip, scores, i, max);
    Vec base = hn::Load(kTag, softmax.base + i);
    Vec sum = hn::Load(kTag, softmax.sum + i);
    const Mask grown = hn::Gt(max, hn::Load(kTag, softmax.limit + i));
    if (!hn::AllFalse(kTag, grown)) {
      const Vec moved = hn::IfThenElse(grown, max, base);
      // Sums are 0 where nothing was seen: any factor would do that is finite.
      const Vec factor = exp2_of(hn::Min(hn::Sub(base, moved), hn::Zero(kTag)));
      base = moved;
      sum = hn::Mul(sum, factor);
      hn::Store(base, kTag, softmax.base + i);
      hn::BlendedStore(hn::Add(base, set(kSlack)), grown, kTag,
                       softmax.limit + i);
      if (!softmax.rescale) std::fill_n(softmax.factor, kBlock, 1.0f);
      softmax.rescale = true;
      hn::Store(factor, kTag, softmax.factor + i);
    }
    for (const Strip& strip : mask)
      if (strip.covers(i))
        sum = column_exp<kMasked, kDropout>(mask, strip, scores, i, base, sum);
    hn::Store(sum, kTag, softmax.sum + i);
  }
  if (!kMasked)
    softmax.seen |= bit_range(0, at.queries);
  else
    for (int64_t j = 0; j < at.keys; ++j) softmax.seen |= mask.visible[j];
}

void fold_in(const AttentionProblem<float>& problem, const Block& at,
             BlockMask& mask, float* scores, RunningSoftmax& softmax) {
  const bool dropout = problem.dropout.on();
  if (dropout) draw_keep(problem, at, mask);
  if (mask.full)
    dropout ? fold_in<false, true>(at, mask, scores, softmax)
            : fold_in<false, false>(at, mask, scores, softmax);
  else
    dropout ? fold_in<true, true>(at, mask, scores, softmax)
            : fold_in<true, false>(at, mask, scores, softmax);
}

// The last of a row: one over its sum; 0 where nothing was seen.
void finish(const Block& at, RunningSoftmax& softmax) {
  for (int64_t i = 0; i < at.lanes(); i += kLanes) {
    const Mask seen = mask_at(&softmax.seen, 0, i);
    const Vec sum = hn::Load(kTag, softmax.sum + i);
    hn::Store(hn::IfThenElseZero(seen, hn::Div(set(1.0f), sum)), kTag,
              softmax.sum + i);
  }
}

// scores(key, query) of a block.
void set_scores(const AttentionProblem<float>& problem, const Block& at,
                const BlockMask& mask, const ForwardScratch& scratch) {
  set_products(rows_of(problem.k, at, at.key), scratch.queries,
               problem.shape.width, mask, scratch.scores);
  if (problem.mask.biased()) add_bias(mask, scratch.bias, scratch.scores);
}

// The weights of 64 queries: scores once more, beside the final base.
void write_weights(const AttentionProblem<float>& problem, Block at,
                   const RunningSoftmax& softmax, const ForwardScratch& scratch,
                   MutableRows weights) {
  BlockMask mask;
  const int64_t keys = problem.shape.keys;
  const KeyRange range = problem.mask.keys_of(problem.shape, at.b, at.query,
                                              at.query + at.queries - 1);
  for (int64_t i = 0; i < at.queries; ++i)
    std::fill_n(weights.data + i * weights.stride, keys, 0.0f);
  for (at.key = range.begin / kBlock * kBlock; at.key < range.end;
       at.key += kBlock) {
    at.keys = std::min(kBlock, range.end - at.key);
    set_mask(problem, at, mask, scratch.bias);
    if (!mask.full) std::fill_n(scratch.scores, at.keys * kBlock, 0.0f);
    set_scores(problem, at, mask, scratch);
    for (const Strip& strip : mask)
      for (int64_t j = strip.key; j < strip.key + strip.keys; ++j)
        for (int64_t i = strip.lane; i < strip.lane + strip.lanes;
             i += kLanes) {
          float* score = scratch.scores + j * kBlock + i;
          Vec p = hn::Mul(exp2_of(hn::Sub(hn::Load(kTag, score),
                                          hn::Load(kTag, softmax.base + i))),
                          hn::Load(kTag, softmax.sum + i));
          if (!mask.full)
            p = hn::IfThenElseZero(mask_at(mask.visible, j, i), p);
          hn::Store(p, kTag, score);
        }
    transpose_out(scratch.scores, at.queries, at.keys,
                  {weights.data + at.key, weights.stride});
  }
}

// Queries `query` … of one head, 64 at most.
void forward_rows(const AttentionProblem<float>& problem,
                  const AttentionOutput<float>& output, int64_t b, int64_t h,
                  int64_t query, const ForwardScratch& scratch) {
  const AttentionShape& s = problem.shape;
  const int64_t wide = padded(s.width);
  Block at{b, h, query, std::min(kBlock, s.queries - query), 0, 0};
  Rows queries = rows_of(problem.q, at, query);
  if (at.queries < at.lanes()) {
    copy_rows(queries, at.queries, s.width, scratch.out);
    queries = {scratch.out, wide};
  }
  transpose_in(queries, at.lanes(), s.width,
               static_cast<float>(problem.scale * kLog2E), scratch.queries);
  RunningSoftmax softmax;
  BlockMask mask;
  bool first = true;  // scratch.out holds nothing yet
  const KeyRange range =
      problem.mask.keys_of(s, b, query, query + at.queries - 1);
  for (at.key = range.begin / kBlock * kBlock; at.key < range.end;
       at.key += kBlock) {
    at.keys = std::min(kBlock, range.end - at.key);
    set_mask(problem, at, mask, scratch.bias);
    if (mask.strip_count == 0) continue;
    set_scores(problem, at, mask, scratch);
    fold_in(problem, at, mask, scratch.scores, softmax);
    if (softmax.rescale && !first)
      store_rows(scratch.out, at.queries, wide,
                 [&](int64_t i) { return softmax.factor[i]; }, false,
                 {scratch.out, wide});
    const bool finite = copy_rows(rows_of(problem.v, at, at.key), at.keys,
                                  s.width, scratch.values);
    add_over_keys(problem, {{scratch.values, wide}, finite}, at, mask,
                  scratch.scores, first, {scratch.out, wide});
    first = false;
  }
  finish(at, softmax);
  const int64_t row = (b * s.heads + h) * s.queries + query;
  for (int64_t i = 0; i < at.queries; ++i) {
    output.rows.max[row + i] = softmax.base[i];
    output.rows.inverse_sum[row + i] = softmax.sum[i];
  }
  if (first) std::fill_n(scratch.out, at.queries * wide, 0.0f);
  const float keep_scale = static_cast<float>(problem.dropout.scale());
  store_rows(scratch.out, at.queries, s.width,
             [&](int64_t i) { return softmax.sum[i] * keep_scale; }, false,
             {output.out.at(b, h, query), output.out.row});

  const int64_t slot = output.weight_slot(h);
  if (slot >= 0)
    write_weights(
        problem, at, softmax, scratch,
        {output.weights +
             ((b * output.weight_head_count + slot) * s.queries + query) *
                 s.keys,
         s.keys});
}

void forward(const AttentionProblem<float>& problem,
             const AttentionOutput<float>& output, void* workspace) {
  const AttentionShape& s = problem.shape;
  const int64_t heads = s.batch * s.heads;
  const int64_t blocks = (s.queries + kBlock - 1) / kBlock;
  const auto rows = [&](int64_t head, int64_t block, int worker) {
    forward_rows(problem, output, head / s.heads, head % s.heads,
                 block * kBlock, ForwardScratch(s, workspace, worker));
  };
  const auto whole_head = [&](int64_t head, int worker) {
    for (int64_t block = 0; block < blocks; ++block) rows(head, block, worker);
  };
  if (s.rows() * s.keys * s.width < kSerialWork) {
    for (int64_t head = 0; head < heads; ++head) whole_head(head, 0);
  } else if (heads >= 64) {
    parallel_for_worker(heads, whole_head);
  } else {  // the last queries first: under a causal mask they see most
    parallel_for_worker(
        heads * blocks,
        [&](int64_t task, int worker) {
          rows(task % heads, blocks - 1 - task / heads, worker);
        },
        Schedule::dynamic);
  }
}

int64_t forward_workspace(const AttentionShape& s) {
  return worker_count() * ForwardScratch::floats(s) *
         static_cast<int64_t>(sizeof(float));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace qkv::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {

HWY_EXPORT(forward);
HWY_EXPORT(forward_workspace);

void attention_flash(const AttentionProblem<float>& problem,
                     const AttentionOutput<float>& output, void* workspace) {
  HWY_DYNAMIC_DISPATCH(forward)(problem, output, workspace);
}
std::int64_t attention_flash_workspace(const AttentionShape& shape) {
  return HWY_DYNAMIC_DISPATCH(forward_workspace)(shape);
}

}  // namespace qkv::kernels
#endif
