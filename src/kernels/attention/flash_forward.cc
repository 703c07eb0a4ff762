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
#include "kernels/attention/short.h"
#include "kernels/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels {
namespace HWY_NAMESPACE {
namespace {

// Blocks of queries that share each block of keys.
constexpr int64_t kChunk = 4;

// A worker's memory, in floats. For each block of a chunk its queries as
// (c, query) and the sum of weighted values as (query, c); values of a
// block as (key, c); scores and bias as (key, query). Rows of (…, c) are
// padded.
struct ForwardScratch {
  ForwardScratch(const AttentionShape& s, void* workspace, int worker)
      : rows(padded(s.width) * kBlock),
        queries(static_cast<float*>(workspace) + worker * floats(s)),
        out(queries + kChunk * rows),
        values(out + kChunk * rows),
        scores(values + rows),
        bias(scores + kBlock * kBlock) {}
  static int64_t floats(const AttentionShape& s) {
    return (2 * kChunk + 1) * padded(s.width) * kBlock + 2 * kBlock * kBlock;
  }

  int64_t rows;
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
    Vec p = exp2(hn::Sub(hn::Load(kTag, score), base));
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
      const Vec factor = exp2(hn::Min(hn::Sub(base, moved), hn::Zero(kTag)));
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

// scores(key, query) of a block, from its keys and its queries as (c, query).
void set_scores(const AttentionProblem<float>& problem, const BlockMask& mask,
                Rows keys, const float* queries, const float* bias,
                float* scores, Ahead& ahead) {
  set_products(keys, queries, problem.shape.width, mask, scores, ahead);
  if (problem.mask.biased()) add_bias(mask, bias, scores);
}

// The weights of 64 queries: scores once more, beside the final base.
void write_weights(const AttentionProblem<float>& problem, Block at,
                   const RunningSoftmax& softmax, const float* queries,
                   const ForwardScratch& scratch, MutableRows weights) {
  BlockMask mask;
  Ahead nothing(problem.shape.width);
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
    set_scores(problem, mask, rows_of(problem.k, at, at.key), queries,
               scratch.bias, scratch.scores, nothing);
    for (const Strip& strip : mask)
      for (int64_t j = strip.key; j < strip.key + strip.keys; ++j)
        for (int64_t i = strip.lane; i < strip.lane + strip.lanes;
             i += kLanes) {
          float* score = scratch.scores + j * kBlock + i;
          Vec p = hn::Mul(exp2(hn::Sub(hn::Load(kTag, score),
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

// 64 queries on their way through the keys.
struct QueryBlock {
  Block at;
  KeyRange keys;  // that any of them sees
  RunningSoftmax softmax;
  float *queries, *out;  // (c, query), (query, c)
  bool first = true;     // out holds nothing yet
};

void load(const AttentionProblem<float>& problem, QueryBlock& block) {
  const AttentionShape& s = problem.shape;
  const Block& at = block.at;
  Rows queries = rows_of(problem.q, at, at.query);
  if (at.queries < at.lanes()) {
    copy_rows(queries, at.queries, s.width, block.out);
    queries = {block.out, padded(s.width)};
  }
  transpose_in(queries, at.lanes(), s.width,
               static_cast<float>(problem.scale * kLog2E), block.queries);
}

// The keys of block.at, in scratch, for its queries.
void add_keys(const AttentionProblem<float>& problem,
              const ForwardScratch& scratch, bool values_finite, Ahead& ahead,
              QueryBlock& block) {
  const int64_t wide = padded(problem.shape.width);
  const MutableRows out{block.out, wide};
  BlockMask mask;
  set_mask(problem, block.at, mask, scratch.bias);
  if (mask.strip_count == 0) return;
  set_scores(problem, mask, rows_of(problem.k, block.at, block.at.key),
             block.queries, scratch.bias, scratch.scores, ahead);
  fold_in(problem, block.at, mask, scratch.scores, block.softmax);
  if (block.softmax.rescale && !block.first)
    store_rows(
        block.out, block.at.queries, wide,
        [&](int64_t i) { return block.softmax.factor[i]; }, false, out);
  add_over<true>(problem, {{scratch.values, wide}, values_finite}, block.at,
                 mask, scratch.scores, block.first, out, ahead);
  block.first = false;
}

void store(const AttentionProblem<float>& problem,
           const AttentionOutput<float>& output, const ForwardScratch& scratch,
           QueryBlock& block) {
  const AttentionShape& s = problem.shape;
  const auto& [b, h, query, queries, key, keys] = block.at;
  RunningSoftmax& softmax = block.softmax;
  finish(block.at, softmax);
  const int64_t row = (b * s.heads + h) * s.queries + query;
  std::copy_n(softmax.base, queries, output.rows.max + row);
  std::copy_n(softmax.sum, queries, output.rows.inverse_sum + row);
  if (block.first) std::fill_n(block.out, queries * padded(s.width), 0.0f);
  const float keep_scale = static_cast<float>(problem.dropout.scale());
  store_rows(block.out, queries, s.width,
             [&](int64_t i) { return softmax.sum[i] * keep_scale; }, false,
             {output.out.at(b, h, query), output.out.row});

  const int64_t slot = output.weight_slot(h);
  if (slot >= 0)
    write_weights(
        problem, block.at, softmax, block.queries, scratch,
        {output.weights +
             ((b * output.weight_head_count + slot) * s.queries + query) *
                 s.keys,
         s.keys});
}

// Where a chunk of queries lies.
struct Chunk {
  int64_t b, h, query;
};

// Queries `query` … of one head, kChunk blocks at most. `next` is probably what
// this thread does afterwards.
void forward_chunk(const AttentionProblem<float>& problem,
                   const AttentionOutput<float>& output, const Chunk& chunk,
                   const Chunk& next, const ForwardScratch& scratch) {
  const AttentionShape& s = problem.shape;
  const auto& [b, h, query] = chunk;
  QueryBlock blocks[kChunk];
  int64_t count = 0;
  for (int64_t i = query; i < s.queries && count < kChunk; i += kBlock) {
    QueryBlock& block = blocks[count];
    block.at = {b, h, i, std::min(kBlock, s.queries - i), 0, 0};
    block.keys = problem.mask.keys_of(s, b, i, i + block.at.queries - 1);
    block.queries = scratch.queries + count * scratch.rows;
    block.out = scratch.out + count * scratch.rows;
    load(problem, block);
    ++count;
  }
  const int64_t queries = std::min(s.queries, query + kChunk * kBlock) - query;
  const KeyRange range = problem.mask.keys_of(s, b, query, query + queries - 1);
  Ahead ahead(s.width);
  const int64_t begin = range.begin / kBlock * kBlock;
  const int64_t end = (range.end + kBlock - 1) / kBlock * kBlock;
  for (int64_t key = begin; key < end; key += kBlock) {
    const int64_t keys = std::min(kBlock, range.end - key);
    const Rows k{problem.k.at(b, h, key), problem.k.row};
    const Rows v{problem.v.at(b, h, key), problem.v.row};
    const bool finite = copy_rows(v, keys, s.width, scratch.values);
    const int64_t left = std::max<int64_t>(range.end - key - kBlock, 0);
    ahead.add({k.data + kBlock * k.stride, k.stride}, std::min(kBlock, left));
    ahead.add({v.data + kBlock * v.stride, v.stride}, std::min(kBlock, left));
    if (key == begin)
      ahead.add({output.out.at(b, h, query), output.out.row}, queries);
    if (key == std::min(begin + kBlock, end - kBlock))
      ahead.add({problem.q.at(next.b, next.h, next.query), problem.q.row},
                std::min(s.queries - next.query, kChunk * kBlock));
    if (key == std::max(begin, end - 2 * kBlock)) {
      ahead.add({problem.k.at(next.b, next.h, 0), k.stride},
                std::min(kBlock, s.keys));
      ahead.add({problem.v.at(next.b, next.h, 0), v.stride},
                std::min(kBlock, s.keys));
    }
    for (int64_t i = 0; i < count; ++i) {
      QueryBlock& block = blocks[i];
      block.at.key = key;
      block.at.keys = std::min(kBlock, block.keys.end - key);
      if (block.at.keys > 0 && key + kBlock > block.keys.begin)
        add_keys(problem, scratch, finite, ahead, block);
    }
  }
  for (int64_t i = 0; i < count; ++i)
    store(problem, output, scratch, blocks[i]);
}

void forward(const AttentionProblem<float>& problem,
             const AttentionOutput<float>& output, void* workspace) {
  const AttentionShape& s = problem.shape;
  const int64_t heads = s.batch * s.heads;
  const int64_t chunks = (s.queries + kChunk * kBlock - 1) / (kChunk * kBlock);
  const auto at = [&](int64_t head, int64_t chunk) {
    return Chunk{head / s.heads, head % s.heads, chunk * kChunk * kBlock};
  };
  const auto one = [&](int64_t head, int64_t chunk, int worker) {
    const Chunk next = chunk + 1 < chunks ? at(head, chunk + 1)
                       : head + 1 < heads ? at(head + 1, 0)
                                          : at(head, chunk);
    forward_chunk(problem, output, at(head, chunk), next,
                  ForwardScratch(s, workspace, worker));
  };
  const auto whole_head = [&](int64_t head, int worker) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) one(head, chunk, worker);
  };
  if (s.rows() * s.keys * s.width < kSerialWork) {
    for (int64_t head = 0; head < heads; ++head) whole_head(head, 0);
  } else if (s.whole_heads()) {
    parallel_for_worker(heads, whole_head);
  } else {  // the last queries first: under a causal mask they see most
    parallel_for_worker(
        heads * chunks,
        [&](int64_t task, int worker) {
          one(task % heads, chunks - 1 - task / heads, worker);
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
  if (is_short(problem.shape)) return attention_short(problem, output);
  HWY_DYNAMIC_DISPATCH(forward)(problem, output, workspace);
}
std::int64_t attention_flash_workspace(const AttentionShape& shape) {
  if (is_short(shape)) return 0;
  return HWY_DYNAMIC_DISPATCH(forward_workspace)(shape);
}

}  // namespace qkv::kernels
#endif
