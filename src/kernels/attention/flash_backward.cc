// The tiled backward: weights are computed again from the rows' maxima and
// sums, so forward stores nothing of size (queries × keys).
//
// With a the weights, m what dropout multiplies them by, g = d loss / d out:
//   dV = (a·m)ᵀ g,  ds = a·(m·(g Vᵀ) - D),  D = rowsum(g·out),
//   dQ = scale · ds K,  dK = scale · dsᵀ Q.
// Work is cut by the shape alone: the keys of a head into `parts`, each with
// its own sum for dQ, added in order afterwards. A part goes over its keys
// a group at a time, whose dK and dV stay in the cache while all queries pass.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/flash_backward.cc"
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

// Of dK and of dV of a group: 512 KiB together, half of a core's second cache
// where that is small.
constexpr int64_t kGroupNumbers = 65536;
constexpr int64_t kGroupBlocks = 16;
// Tasks to have at least, where the keys allow it: enough for many threads,
// and partial sums stay within kTasks times the size of one head's queries.
constexpr int64_t kTasks = 16;

// How the work is cut.
struct Cut {
  explicit Cut(const AttentionShape& s)
      : heads(s.batch * s.heads),
        blocks((s.keys + kBlock - 1) / kBlock),
        parts(heads == 0 ? 1
                         : std::clamp<int64_t>((kTasks + heads - 1) / heads, 1,
                                               std::max<int64_t>(blocks, 1))) {}
  int64_t heads, blocks, parts;

  KeyRange keys(int64_t part, int64_t key_count) const {
    return {blocks * part / parts * kBlock,
            std::min(blocks * (part + 1) / parts * kBlock, key_count)};
  }
};

// A worker's memory, in floats. 64 queries as (query, c), padded, and as
// (c, query); their dQ as (query, c); two (key, query) blocks; keys, dK and dV
// of a group as (key, c). Rows of (…, c) are padded.
struct BackwardScratch {
  BackwardScratch(const AttentionShape& s, float* workspace, int worker) {
    float* next = workspace + worker * floats(s);
    const auto take = [&](int64_t count) {
      float* block = next;
      next += count;
      return block;
    };
    const int64_t wide = padded(s.width);
    q = take(kBlock * wide);
    g = take(kBlock * wide);
    qt = take(kBlock * wide);
    gt = take(kBlock * wide);
    dq = take(kBlock * wide);
    weights = take(kBlock * kBlock);
    dscores = take(kBlock * kBlock);
    bias = take(kBlock * kBlock);
    k = take(group_keys(s) * wide);
    dk = take(group_keys(s) * wide);
    dv = take(group_keys(s) * wide);
  }
  static int64_t group_keys(const AttentionShape& s) {
    const int64_t blocks =
        kGroupNumbers / (kBlock * std::max<int64_t>(padded(s.width), 16));
    return std::clamp<int64_t>(blocks, 1, kGroupBlocks) * kBlock;
  }
  static int64_t floats(const AttentionShape& s) {
    return (5 * kBlock + 3 * group_keys(s)) * padded(s.width) +
           3 * kBlock * kBlock;
  }

  float *q, *g, *qt, *gt, *dq, *weights, *dscores, *bias, *k, *dk, *dv;
};

// 64 queries: what forward kept of them, and D.
struct QueryRows {
  HWY_ALIGN float base[kBlock];
  HWY_ALIGN float inverse_sum[kBlock];
  HWY_ALIGN float d[kBlock];
  BlockRows q, g;
};

void load_queries(const AttentionProblem<float>& problem,
                  const AttentionGradients<float>& gradients, const Block& at,
                  const BackwardScratch& scratch, QueryRows& rows) {
  const AttentionShape& s = problem.shape;
  const int64_t wide = padded(s.width);
  rows.q = {{scratch.q, wide},
            copy_rows(rows_of(problem.q, at, at.query), at.queries, s.width,
                      scratch.q)};
  rows.g = {{scratch.g, wide},
            copy_rows(rows_of(gradients.dout, at, at.query), at.queries,
                      s.width, scratch.g)};
  transpose_in(rows.q.rows, at.lanes(), s.width,
               static_cast<float>(problem.scale * kLog2E), scratch.qt);
  transpose_in(rows.g.rows, at.lanes(), s.width, 1.0f, scratch.gt);
  row_products(rows.g.rows, rows_of(gradients.out, at, at.query), at.queries,
               s.width, rows.d);
  const int64_t first = (at.b * s.heads + at.h) * s.queries + at.query;
  for (int64_t i = 0; i < kBlock; ++i) {
    const bool real = i < at.queries;
    rows.base[i] = real ? gradients.rows.max[first + i] : 0.0f;
    rows.inverse_sum[i] = real ? gradients.rows.inverse_sum[first + i] : 0.0f;
    rows.d[i] = real ? rows.d[i] : 0.0f;
  }
}

// In place: scores -> weights after dropout, d weights -> d scores.
template <bool kMasked, bool kDropout>
void softmax_backward(const BlockMask& mask, const QueryRows& rows,
                      float keep_scale, float* weights, float* dscores) {
  const Vec keep_factor = set(keep_scale);
  for (const Strip& strip : mask)
    for (int64_t i = strip.lane; i < strip.lane + strip.lanes; i += kLanes) {
      const Vec base = hn::Load(kTag, rows.base + i);
      const Vec inverse_sum = hn::Load(kTag, rows.inverse_sum + i);
      const Vec d = hn::Load(kTag, rows.d + i);
      for (int64_t j = strip.key; j < strip.key + strip.keys; ++j) {
        float* weight = weights + j * kBlock + i;
        float* dscore = dscores + j * kBlock + i;
        Vec a = hn::Mul(exp2_of(hn::Sub(hn::Load(kTag, weight), base)),
                        inverse_sum);
        Vec da = hn::Load(kTag, dscore);
        Vec kept = a;
        if (kDropout) {
          const Mask keep = mask_at(mask.keep, j, i);
          da = hn::IfThenElseZero(keep, hn::Mul(da, keep_factor));
          kept = hn::IfThenElseZero(keep, hn::Mul(a, keep_factor));
        }
        Vec ds = hn::Mul(a, hn::Sub(da, d));
        if (kMasked) {
          const Mask seen = mask_at(mask.visible, j, i);
          kept = hn::IfThenElseZero(seen, kept);
          ds = hn::IfThenElseZero(seen, ds);
        }
        hn::Store(kept, kTag, weight);
        hn::Store(ds, kTag, dscore);
      }
    }
}

void softmax_backward(const AttentionProblem<float>& problem, const Block& at,
                      BlockMask& mask, const QueryRows& rows,
                      const BackwardScratch& scratch) {
  const bool dropout = problem.dropout.on();
  const float keep_scale = static_cast<float>(problem.dropout.scale());
  if (dropout) draw_keep(problem, at, mask);
  const auto run = [&]<bool kMasked, bool kDropout>() {
    softmax_backward<kMasked, kDropout>(mask, rows, keep_scale, scratch.weights,
                                        scratch.dscores);
  };
  if (mask.full)
    dropout ? run.template operator()<false, true>()
            : run.template operator()<false, false>();
  else
    dropout ? run.template operator()<true, true>()
            : run.template operator()<true, false>();
}

// The keys of a block, and where their gradients are summed.
struct KeyRows {
  BlockRows k;
  float *dk, *dv;
};

// What one block adds to dK and dV of its keys and to dQ, which holds nothing
// yet when first_keys. False when it has nothing to add.
bool add_block(const AttentionProblem<float>& problem, const Block& at,
               const QueryRows& rows, const KeyRows& keys, bool first_keys,
               const BackwardScratch& scratch) {
  const AttentionShape& s = problem.shape;
  const int64_t wide = padded(s.width);
  BlockMask mask;
  set_mask(problem, at, mask, scratch.bias);
  if (mask.strip_count == 0) return false;
  set_products(keys.k.rows, scratch.qt, s.width, mask, scratch.weights);
  if (problem.mask.biased()) add_bias(mask, scratch.bias, scratch.weights);
  // d weights = V gᵀ
  set_products(rows_of(problem.v, at, at.key), scratch.gt, s.width, mask,
               scratch.dscores);
  softmax_backward(problem, at, mask, rows, scratch);
  add_over_queries(problem, rows.g, at, mask, scratch.weights, false,
                   {keys.dv, wide});
  add_over_queries(problem, rows.q, at, mask, scratch.dscores, false,
                   {keys.dk, wide});
  add_over_keys(problem, keys.k, at, mask, scratch.dscores, first_keys,
                {scratch.dq, wide});
  return true;
}

// The keys `group` of one head against all its queries. dq is theirs alone, or
// a part's own sum; `first`: it holds nothing yet.
void backward_group(const AttentionProblem<float>& problem,
                    const AttentionGradients<float>& gradients, int64_t b,
                    int64_t h, KeyRange group, const HeadRows<float>& dq,
                    bool first, const BackwardScratch& scratch) {
  const AttentionShape& s = problem.shape;
  const int64_t wide = padded(s.width);
  const int64_t count = group.end - group.begin;
  const float scale = static_cast<float>(problem.scale);
  const auto scaled = [&](int64_t) { return scale; };
  bool finite[kGroupBlocks];  // the keys of each block
  for (int64_t j = 0; j < count; j += kBlock)
    finite[j / kBlock] =
        copy_rows({problem.k.at(b, h, group.begin + j), problem.k.row},
                  std::min(kBlock, count - j), s.width, scratch.k + j * wide);
  std::fill_n(scratch.dk, count * wide, 0.0f);
  std::fill_n(scratch.dv, count * wide, 0.0f);
  QueryRows rows;
  for (int64_t query = 0; query < s.queries; query += kBlock) {
    Block at{b, h, query, std::min(kBlock, s.queries - query), 0, 0};
    const KeyRange range =
        problem.mask.keys_of(s, b, query, query + at.queries - 1);
    const int64_t begin = std::max(range.begin / kBlock * kBlock, group.begin);
    const int64_t end = std::min(range.end, group.end);
    if (begin >= end && !first) continue;
    if (begin < end) load_queries(problem, gradients, at, scratch, rows);
    bool first_keys = true;
    for (at.key = begin; at.key < end; at.key += kBlock) {
      at.keys = std::min(kBlock, end - at.key);
      const int64_t j = at.key - group.begin, offset = j * wide;
      if (add_block(problem, at, rows,
                    {{{scratch.k + offset, wide}, finite[j / kBlock]},
                     scratch.dk + offset,
                     scratch.dv + offset},
                    first_keys, scratch))
        first_keys = false;
    }
    if (first_keys) std::fill_n(scratch.dq, at.queries * wide, 0.0f);
    if (dq)
      store_rows(scratch.dq, at.queries, s.width, scaled, !first,
                 {dq.at(b, h, query), dq.row});
  }
  if (gradients.dk)
    store_rows(scratch.dk, count, s.width, scaled, false,
               {gradients.dk.at(b, h, group.begin), gradients.dk.row});
  if (gradients.dv)
    store_rows(scratch.dv, count, s.width, [](int64_t) { return 1.0f; }, false,
               {gradients.dv.at(b, h, group.begin), gradients.dv.row});
}

// dq of 64 queries: the parts' sums in order.
void add_parts(const AttentionShape& s, int64_t parts, const float* sums,
               int64_t part_size, int64_t head, int64_t query,
               const HeadRows<float>& dq) {
  const int64_t end = std::min(query + kBlock, s.queries);
  for (int64_t i = query; i < end; ++i) {
    float* row = dq.at(head / s.heads, head % s.heads, i);
    const float* sum = sums + (head * s.queries + i) * s.width;
    for (int64_t c = 0; c < s.width; ++c) row[c] = sum[c];
    for (int64_t part = 1; part < parts; ++part)
      for (int64_t c = 0; c < s.width; ++c) row[c] += sum[part * part_size + c];
  }
}

int64_t backward_workspace(const AttentionShape& s) {
  const Cut cut(s);
  const int64_t sums = cut.parts > 1 ? cut.parts * s.rows() * s.width : 0;
  return (worker_count() * BackwardScratch::floats(s) + sums) *
         static_cast<int64_t>(sizeof(float));
}

void backward(const AttentionProblem<float>& problem,
              const AttentionGradients<float>& gradients, void* workspace) {
  const AttentionShape& s = problem.shape;
  const Cut cut(s);
  const int64_t blocks = (s.queries + kBlock - 1) / kBlock;
  const int64_t part_size = s.rows() * s.width;
  float* scratch = static_cast<float*>(workspace);
  float* sums = scratch + worker_count() * BackwardScratch::floats(s);

  // Part by part: under a causal mask the first keys are seen by most.
  const auto task = [&](int64_t n, int worker) {
    const int64_t part = n / cut.heads, head = n % cut.heads;
    HeadRows<float> dq = gradients.dq;
    if (dq && cut.parts > 1)
      dq = {sums + part * part_size, s.heads * s.queries * s.width,
            s.queries * s.width, s.width};
    const KeyRange keys = cut.keys(part, s.keys);
    KeyRange group{keys.begin, 0};
    do {  // once at least: dq is set even when there are no keys
      group.end =
          std::min(group.begin + BackwardScratch::group_keys(s), keys.end);
      backward_group(problem, gradients, head / s.heads, head % s.heads, group,
                     dq, group.begin == keys.begin,
                     BackwardScratch(s, scratch, worker));
      group.begin = group.end;
    } while (group.begin < keys.end);
  };
  const auto sum_up = [&](int64_t n) {
    add_parts(s, cut.parts, sums, part_size, n / blocks, n % blocks * kBlock,
              gradients.dq);
  };
  const int64_t tasks = cut.heads * cut.parts;
  const bool small = s.rows() * s.keys * s.width < kSerialWork;
  if (small)
    for (int64_t n = 0; n < tasks; ++n) task(n, 0);
  else
    parallel_for_worker(
        tasks, task,
        cut.parts == 1 && cut.heads >= 64 ? Schedule::even : Schedule::dynamic);
  if (!gradients.dq || cut.parts == 1) return;
  if (small)
    for (int64_t n = 0; n < cut.heads * blocks; ++n) sum_up(n);
  else
    parallel_for(cut.heads * blocks, sum_up);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace qkv::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {

HWY_EXPORT(backward);
HWY_EXPORT(backward_workspace);

void attention_flash_backward(const AttentionProblem<float>& problem,
                              const AttentionGradients<float>& gradients,
                              void* workspace) {
  HWY_DYNAMIC_DISPATCH(backward)(problem, gradients, workspace);
}
std::int64_t attention_flash_backward_workspace(const AttentionShape& shape) {
  return HWY_DYNAMIC_DISPATCH(backward_workspace)(shape);
}

}  // namespace qkv::kernels
#endif
