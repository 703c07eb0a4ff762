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

// A worker's memory, in floats: (c, query) or (key, query), 64 queries.
struct ForwardScratch {
  ForwardScratch(const AttentionShape& s, void* workspace, int worker)
      : queries(static_cast<float*>(workspace) + worker * floats(s)),
        out(queries + s.width * kBlock),
        scores(out + s.width * kBlock),
        bias(scores + kBlock * kBlock) {}
  static int64_t floats(const AttentionShape& s) {
    return 2 * s.width * kBlock + 2 * kBlock * kBlock;
  }

  float *queries, *out, *scores, *bias;
};

// The softmax of 64 rows so far.
struct RunningSoftmax {
  HWY_ALIGN float max[kBlock];
  HWY_ALIGN float sum[kBlock];
  HWY_ALIGN float factor[kBlock];  // what the last block scales the past by
  std::uint64_t seen = 0;          // bit i: query i has seen a key

  RunningSoftmax() {
    std::fill_n(max, kBlock, -std::numeric_limits<float>::infinity());
    std::fill_n(sum, kBlock, 0.0f);
  }
};

// The largest of a column of scores and `max`. Four maxima run side by side.
template <bool kMasked>
HWY_INLINE Floats column_max(const BlockMask& mask, const Strip& strip,
                             const float* scores, int64_t i, Floats max) {
  const Floats least = hn::Set(kTag, -std::numeric_limits<float>::infinity());
  const auto at = [&](int64_t j) HWY_ATTR {
    const Floats s = hn::Load(kTag, scores + j * kBlock + i);
    return kMasked ? hn::IfThenElse(mask_at(mask.visible, j, i), s, least) : s;
  };
  Floats m[4] = {max, least, least, least};
  int64_t j = strip.key;
  const int64_t end = strip.key + strip.keys;
  for (; j + 4 <= end; j += 4)
    for (int a = 0; a < 4; ++a) m[a] = hn::Max(m[a], at(j + a));
  for (; j < end; ++j) m[0] = hn::Max(m[0], at(j));
  return hn::Max(hn::Max(m[0], m[1]), hn::Max(m[2], m[3]));
}

// Scores to exponentials beside the new maximum; sums before dropout.
template <bool kMasked, bool kDropout>
void fold_in(const Block& at, const BlockMask& mask, float* scores,
             RunningSoftmax& softmax) {
  const Floats least = hn::Set(kTag, -std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < at.lanes(); i += kLanes) {
    const Floats before = hn::Load(kTag, softmax.max + i);
    Floats max = before;
    for (const Strip& strip : mask)
      if (strip.covers(i))
        max = column_max<kMasked>(mask, strip, scores, i, max);
    // -infinity: still nothing seen; its exponentials are masked below.
    const Floats base = hn::IfThenZeroElse(hn::Eq(max, least), max);
    const Floats factor = exp2_of(hn::Sub(before, base));
    Floats sum = hn::Mul(hn::Load(kTag, softmax.sum + i), factor);
    for (const Strip& strip : mask) {
      if (!strip.covers(i)) continue;
      for (int64_t j = strip.key; j < strip.key + strip.keys; ++j) {
        float* score = scores + j * kBlock + i;
        Floats p = exp2_of(hn::Sub(hn::Load(kTag, score), base));
        if (kMasked) p = hn::IfThenElseZero(mask_at(mask.visible, j, i), p);
        sum = hn::Add(sum, p);
        if (kDropout) p = hn::IfThenElseZero(mask_at(mask.keep, j, i), p);
        hn::Store(p, kTag, score);
      }
    }
    hn::Store(max, kTag, softmax.max + i);
    hn::Store(sum, kTag, softmax.sum + i);
    hn::Store(factor, kTag, softmax.factor + i);
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

// The last of a row: one over its sum, its maximum; 0 where nothing was seen.
// Leaves the inverse sums in softmax.sum, the maxima in softmax.max.
void finish(const Block& at, RunningSoftmax& softmax) {
  for (int64_t i = 0; i < at.lanes(); i += kLanes) {
    const auto seen = mask_at(&softmax.seen, 0, i);
    const Floats sum = hn::Load(kTag, softmax.sum + i);
    const Floats max = hn::Load(kTag, softmax.max + i);
    hn::Store(hn::IfThenElseZero(seen, hn::Div(hn::Set(kTag, 1.0f), sum)), kTag,
              softmax.sum + i);
    hn::Store(hn::IfThenElseZero(seen, max), kTag, softmax.max + i);
  }
}

// The weights of 64 queries: scores once more, beside the final maxima.
void write_weights(const AttentionProblem<float>& problem, Block at,
                   const RunningSoftmax& softmax, const ForwardScratch& scratch,
                   MutableRows weights) {
  HWY_ALIGN float ones[kBlock];
  std::fill_n(ones, kBlock, 1.0f);
  BlockMask mask;
  for (at.key = 0; at.key < problem.shape.keys; at.key += kBlock) {
    at.keys = std::min(kBlock, problem.shape.keys - at.key);
    set_mask(problem, at, mask, scratch.bias);
    if (!mask.full) std::fill_n(scratch.scores, at.keys * kBlock, 0.0f);
    set_scores(problem, at, mask, scratch.queries, scratch.bias,
               scratch.scores);
    for (const Strip& strip : mask)
      for (int64_t j = strip.key; j < strip.key + strip.keys; ++j)
        for (int64_t i = strip.lane; i < strip.lane + strip.lanes;
             i += kLanes) {
          float* score = scratch.scores + j * kBlock + i;
          Floats p = hn::Mul(exp2_of(hn::Sub(hn::Load(kTag, score),
                                             hn::Load(kTag, softmax.max + i))),
                             hn::Load(kTag, softmax.sum + i));
          if (!mask.full)
            p = hn::IfThenElseZero(mask_at(mask.visible, j, i), p);
          hn::Store(p, kTag, score);
        }
    transpose_out(scratch.scores, at.queries, at.keys, ones, false,
                  {weights.data + at.key, weights.stride});
  }
}

// Queries `query` … of one head, 64 at most.
void forward_rows(const AttentionProblem<float>& problem,
                  const AttentionOutput<float>& output, int64_t b, int64_t h,
                  int64_t query, const ForwardScratch& scratch) {
  const AttentionShape& s = problem.shape;
  Block at{b, h, query, std::min(kBlock, s.queries - query), 0, 0};
  transpose_in(rows_of(problem.q, at, query), at.queries, s.width,
               static_cast<float>(problem.scale * kLog2E), scratch.queries);
  std::fill_n(scratch.out, s.width * kBlock, 0.0f);
  RunningSoftmax softmax;
  BlockMask mask;
  const KeyRange range =
      problem.mask.keys_of(s, b, query, query + at.queries - 1);
  for (at.key = range.begin / kBlock * kBlock; at.key < range.end;
       at.key += kBlock) {
    at.keys = std::min(kBlock, s.keys - at.key);
    set_mask(problem, at, mask, scratch.bias);
    if (mask.strip_count == 0) continue;
    set_scores(problem, at, mask, scratch.queries, scratch.bias,
               scratch.scores);
    fold_in(problem, at, mask, scratch.scores, softmax);
    // A full block scales the past while it adds; strips would do it twice.
    if (!mask.full)
      for (int64_t c = 0; c < s.width; ++c)
        for (int64_t i = 0; i < at.lanes(); i += kLanes) {
          float* sum = scratch.out + c * kBlock + i;
          hn::Store(
              hn::Mul(hn::Load(kTag, sum), hn::Load(kTag, softmax.factor + i)),
              kTag, sum);
        }
    add_over_keys(problem.v, s.width, at, mask, scratch.scores, scratch.out,
                  mask.full ? Start::scaled : Start::add, softmax.factor);
  }
  finish(at, softmax);
  const int64_t row = (b * s.heads + h) * s.queries + query;
  std::copy_n(softmax.max, at.queries, output.rows.max + row);
  std::copy_n(softmax.sum, at.queries, output.rows.inverse_sum + row);

  HWY_ALIGN float factor[kBlock];
  const float keep_scale = static_cast<float>(problem.dropout.scale());
  for (int64_t i = 0; i < kBlock; ++i) factor[i] = softmax.sum[i] * keep_scale;
  transpose_out(scratch.out, at.queries, s.width, factor, false,
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
