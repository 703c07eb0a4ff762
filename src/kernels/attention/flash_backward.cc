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

int64_t padded_width(const AttentionShape& s) {
  return (s.width + 15) / 16 * 16;
}

// A worker's memory, in floats. 64 queries as (query, c), padded, and as
// (c, query); two (key, query) blocks; dK and dV of a group as (key, c),
// padded.
struct BackwardScratch {
  BackwardScratch(const AttentionShape& s, float* workspace, int worker) {
    float* next = workspace + worker * floats(s);
    const auto take = [&](int64_t count) {
      float* block = next;
      next += count;
      return block;
    };
    const int64_t wide = padded_width(s);
    q = take(kBlock * wide);
    g = take(kBlock * wide);
    qt = take(kBlock * s.width);
    gt = take(kBlock * s.width);
    dqt = take(kBlock * s.width);
    weights = take(kBlock * kBlock);
    dscores = take(kBlock * kBlock);
    bias = take(kBlock * kBlock);
    dk = take(group_keys(s) * wide);
    dv = take(group_keys(s) * wide);
  }
  static int64_t group_keys(const AttentionShape& s) {
    const int64_t blocks =
        kGroupNumbers / (kBlock * std::max<int64_t>(padded_width(s), 16));
    return std::clamp<int64_t>(blocks, 1, 16) * kBlock;
  }
  static int64_t floats(const AttentionShape& s) {
    return kBlock * (2 * padded_width(s) + 3 * s.width) + 3 * kBlock * kBlock +
           2 * group_keys(s) * padded_width(s);
  }

  float *q, *g, *qt, *gt, *dqt, *weights, *dscores, *bias, *dk, *dv;
};

// 64 queries: what forward kept of them, and D.
struct QueryRows {
  HWY_ALIGN float max[kBlock];
  HWY_ALIGN float inverse_sum[kBlock];
  HWY_ALIGN float d[kBlock];
  bool q_finite, g_finite;
};

void copy_padded(Rows from, int64_t count, int64_t width, float* to,
                 int64_t wide) {
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(from.data + i * from.stride, width, to + i * wide);
    std::fill_n(to + i * wide + width, wide - width, 0.0f);
  }
}

void load_queries(const AttentionProblem<float>& problem,
                  const AttentionGradients<float>& gradients, const Block& at,
                  const BackwardScratch& scratch, QueryRows& rows) {
  const AttentionShape& s = problem.shape;
  const int64_t wide = padded_width(s);
  const Rows q = rows_of(problem.q, at, at.query);
  const Rows g = rows_of(gradients.dout, at, at.query);
  const Rows out = rows_of(gradients.out, at, at.query);
  copy_padded(q, at.queries, s.width, scratch.q, wide);
  copy_padded(g, at.queries, s.width, scratch.g, wide);
  transpose_in(q, at.queries, s.width,
               static_cast<float>(problem.scale * kLog2E), scratch.qt);
  transpose_in(g, at.queries, s.width, 1.0f, scratch.gt);
  rows.q_finite = all_finite(q, at.queries, s.width);
  rows.g_finite = all_finite(g, at.queries, s.width);
  const int64_t first = (at.b * s.heads + at.h) * s.queries + at.query;
  for (int64_t i = 0; i < kBlock; ++i) {
    const bool real = i < at.queries;
    rows.max[i] = real ? gradients.rows.max[first + i] : 0.0f;
    rows.inverse_sum[i] = real ? gradients.rows.inverse_sum[first + i] : 0.0f;
    rows.d[i] =
        real ? dot(g.data + i * g.stride, out.data + i * out.stride, s.width)
             : 0.0f;
  }
}

// In place: scores -> weights after dropout, d weights -> d scores.
template <bool kMasked, bool kDropout>
void softmax_backward(const BlockMask& mask, const QueryRows& rows,
                      float keep_scale, float* weights, float* dscores) {
  const Floats keep_factor = hn::Set(kTag, keep_scale);
  for (const Strip& strip : mask)
    for (int64_t i = strip.lane; i < strip.lane + strip.lanes; i += kLanes) {
      const Floats max = hn::Load(kTag, rows.max + i);
      const Floats inverse_sum = hn::Load(kTag, rows.inverse_sum + i);
      const Floats d = hn::Load(kTag, rows.d + i);
      for (int64_t j = strip.key; j < strip.key + strip.keys; ++j) {
        float* weight = weights + j * kBlock + i;
        float* dscore = dscores + j * kBlock + i;
        Floats a =
            hn::Mul(exp2_of(hn::Sub(hn::Load(kTag, weight), max)), inverse_sum);
        Floats da = hn::Load(kTag, dscore);
        Floats kept = a;
        if (kDropout) {
          const auto keep = mask_at(mask.keep, j, i);
          da = hn::IfThenElseZero(keep, hn::Mul(da, keep_factor));
          kept = hn::IfThenElseZero(keep, hn::Mul(a, keep_factor));
        }
        Floats ds = hn::Mul(a, hn::Sub(da, d));
        if (kMasked) {
          const auto seen = mask_at(mask.visible, j, i);
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

// What one block adds: to dk and dv of its keys (from `dk`, `dv`), to dqt.
void add_block(const AttentionProblem<float>& problem, const Block& at,
               const QueryRows& rows, const BackwardScratch& scratch, float* dk,
               float* dv) {
  const AttentionShape& s = problem.shape;
  const int64_t wide = padded_width(s);
  BlockMask mask;
  set_mask(problem, at, mask, scratch.bias);
  if (mask.strip_count == 0) return;
  set_scores(problem, at, mask, scratch.qt, scratch.bias, scratch.weights);
  for (const Strip& strip : mask) {  // d weights = V gᵀ
    const int64_t first = strip.key * kBlock + strip.lane;
    product<false>(rows_of(problem.v, at, at.key + strip.key),
                   {scratch.gt + strip.lane, kBlock},
                   {scratch.dscores + first, kBlock}, strip.keys,
                   strip.vectors(), s.width, Start::zero);
  }
  softmax_backward(problem, at, mask, rows, scratch);
  add_over_queries({scratch.g, wide}, rows.g_finite, at, mask, scratch.weights,
                   {dv, wide}, wide / kLanes);
  add_over_queries({scratch.q, wide}, rows.q_finite, at, mask, scratch.dscores,
                   {dk, wide}, wide / kLanes);
  add_over_keys(problem.k, s.width, at, mask, scratch.dscores, scratch.dqt,
                Start::add, nullptr);
}

void store_rows(const float* from, int64_t wide, int64_t count, int64_t width,
                float factor, MutableRows to) {
  for (int64_t j = 0; j < count; ++j)
    for (int64_t c = 0; c < width; ++c)
      to.data[j * to.stride + c] = from[j * wide + c] * factor;
}

// The keys `group` of one head against all its queries. dq is theirs alone, or
// a part's own sum; `first`: it holds nothing yet.
void backward_group(const AttentionProblem<float>& problem,
                    const AttentionGradients<float>& gradients, int64_t b,
                    int64_t h, KeyRange group, const HeadRows<float>& dq,
                    bool first, const BackwardScratch& scratch) {
  const AttentionShape& s = problem.shape;
  const int64_t wide = padded_width(s);
  const int64_t count = group.end - group.begin;
  const float scale = static_cast<float>(problem.scale);
  HWY_ALIGN float scales[kBlock];
  std::fill_n(scales, kBlock, scale);
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
    std::fill_n(scratch.dqt, s.width * kBlock, 0.0f);
    if (begin < end) load_queries(problem, gradients, at, scratch, rows);
    for (at.key = begin; at.key < end; at.key += kBlock) {
      at.keys = std::min(kBlock, s.keys - at.key);
      const int64_t offset = (at.key - group.begin) * wide;
      add_block(problem, at, rows, scratch, scratch.dk + offset,
                scratch.dv + offset);
    }
    if (dq)
      transpose_out(scratch.dqt, at.queries, s.width, scales, !first,
                    {dq.at(b, h, query), dq.row});
  }
  if (gradients.dk)
    store_rows(scratch.dk, wide, count, s.width, scale,
               {gradients.dk.at(b, h, group.begin), gradients.dk.row});
  if (gradients.dv)
    store_rows(scratch.dv, wide, count, s.width, 1.0f,
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
