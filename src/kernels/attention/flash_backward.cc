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
#include "kernels/attention/short.h"
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

struct Head {
  int64_t b, h;
};

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
        Vec a =
            hn::Mul(exp2(hn::Sub(hn::Load(kTag, weight), base)), inverse_sum);
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
  MutableRows dk, dv;
  int64_t count;
  bool empty = true;  // dk and dv hold nothing yet

  void set_zero() {
    std::fill_n(dk.data, count * dk.stride, 0.0f);
    std::fill_n(dv.data, count * dv.stride, 0.0f);
    empty = false;
  }
};

// What one block adds to dK and dV of its keys and to dQ, which holds nothing
// yet when first_keys. False when it has nothing to add.
bool add_block(const AttentionProblem<float>& problem, const Block& at,
               const QueryRows& rows, KeyRows& keys, bool first_keys,
               const BackwardScratch& scratch, Ahead& ahead) {
  const AttentionShape& s = problem.shape;
  const int64_t wide = padded(s.width);
  BlockMask mask;
  set_mask(problem, at, mask, scratch.bias);
  if (mask.strip_count == 0) return false;
  set_products(keys.k.rows, scratch.qt, s.width, mask, scratch.weights, ahead);
  if (problem.mask.biased()) add_bias(mask, scratch.bias, scratch.weights);
  // d weights = V gᵀ
  set_products(rows_of(problem.v, at, at.key), scratch.gt, s.width, mask,
               scratch.dscores, ahead);
  softmax_backward(problem, at, mask, rows, scratch);
  if (at.keys < keys.count && keys.empty) keys.set_zero();
  add_over<false>(problem, rows.g, at, mask, scratch.weights, keys.empty,
                  keys.dv, ahead);
  add_over<false>(problem, rows.q, at, mask, scratch.dscores, keys.empty,
                  keys.dk, ahead);
  keys.empty = false;
  add_over<true>(problem, keys.k, at, mask, scratch.dscores, first_keys,
                 {scratch.dq, wide}, ahead);
  return true;
}

// The keys of a head that are worked on, with their gradients.
class KeyGroup {
 public:
  KeyGroup(const AttentionProblem<float>& problem, int64_t b, int64_t h,
           KeyRange keys, const BackwardScratch& scratch)
      : keys_(keys),
        k_{problem.k.at(b, h, keys.begin), problem.k.row},
        v_{problem.v.at(b, h, keys.begin), problem.v.row},
        width_(problem.shape.width),
        scratch_(scratch) {}

  // The block at `key`. Makes those up to it ready, and asks for the next.
  KeyRows& block(int64_t key, Ahead& ahead) {
    for (; keys_.begin + ready_ <= key; ready_ += kBlock) {
      prepare(ready_);
      const int64_t next = ready_ + kBlock;
      const int64_t more = std::min(kBlock, count() - next);
      ahead.add({k_.data + next * k_.stride, k_.stride}, more);
      ahead.add({v_.data + next * v_.stride, v_.stride}, more);
    }
    return blocks_[(key - keys_.begin) / kBlock];
  }
  // Stores the gradients of all, zeros for those no query has come to.
  void store(const AttentionGradients<float>& gradients, int64_t b, int64_t h,
             float scale) {
    for (; ready_ < count(); ready_ += kBlock) prepare(ready_);
    for (int64_t j = 0; j < count(); j += kBlock)
      if (blocks_[j / kBlock].empty) blocks_[j / kBlock].set_zero();
    if (gradients.dk)
      store_rows(scratch_.dk, count(), width_, [&](int64_t) { return scale; },
                 false, {gradients.dk.at(b, h, keys_.begin), gradients.dk.row});
    if (gradients.dv)
      store_rows(scratch_.dv, count(), width_, [](int64_t) { return 1.0f; },
                 false, {gradients.dv.at(b, h, keys_.begin), gradients.dv.row});
  }
  int64_t count() const { return keys_.end - keys_.begin; }

 private:
  void prepare(int64_t j) {
    const int64_t wide = padded(width_), keys = std::min(kBlock, count() - j);
    float* k = scratch_.k + j * wide;
    const bool finite =
        copy_rows({k_.data + j * k_.stride, k_.stride}, keys, width_, k);
    blocks_[j / kBlock] = {{{k, wide}, finite},
                           {scratch_.dk + j * wide, wide},
                           {scratch_.dv + j * wide, wide},
                           keys};
  }

  KeyRange keys_;
  Rows k_, v_;
  int64_t width_;
  const BackwardScratch& scratch_;
  int64_t ready_ = 0;  // keys whose blocks are set up
  KeyRows blocks_[kGroupBlocks];
};

// The keys `range` of one head against all its queries. dq is theirs alone, or
// a part's own sum; `first`: it holds nothing yet. `next` is probably the head
// this thread does afterwards.
void backward_group(const AttentionProblem<float>& problem,
                    const AttentionGradients<float>& gradients,
                    const Head& at_head, const Head& next, KeyRange range,
                    const HeadRows<float>& dq, bool first,
                    const BackwardScratch& scratch) {
  const AttentionShape& s = problem.shape;
  const auto [b, h] = at_head;
  const float scale = static_cast<float>(problem.scale);
  KeyGroup group(problem, b, h, range, scratch);
  QueryRows rows;
  Ahead ahead(s.width);
  const auto ask = [&](const auto& x, const Head& head, int64_t row,
                       int64_t count) {
    if (x) ahead.add({x.at(head.b, head.h, row), x.row}, count);
  };
  const auto ask_for_queries = [&](const Head& head, int64_t query) {
    const int64_t count = std::min(kBlock, s.queries - query);
    ask(problem.q, head, query, count);
    ask(gradients.dout, head, query, count);
    ask(gradients.out, head, query, count);
  };
  for (int64_t query = 0; query < s.queries; query += kBlock) {
    Block at{b, h, query, std::min(kBlock, s.queries - query), 0, 0};
    const KeyRange seen =
        problem.mask.keys_of(s, b, query, query + at.queries - 1);
    const int64_t begin = std::max(seen.begin / kBlock * kBlock, range.begin);
    const int64_t end = std::min(seen.end, range.end);
    if (begin >= end && !first) continue;
    if (begin < end) load_queries(problem, gradients, at, scratch, rows);
    ask(dq, at_head, query, at.queries);
    if (query + kBlock < s.queries) {
      ask_for_queries(at_head, query + kBlock);
    } else {
      ask(gradients.dk, at_head, range.begin, group.count());
      ask(gradients.dv, at_head, range.begin, group.count());
      ask_for_queries(next, 0);
      ask(problem.k, next, 0, std::min(kBlock, s.keys));
      ask(problem.v, next, 0, std::min(kBlock, s.keys));
    }
    bool first_keys = true;
    for (at.key = begin; at.key < end; at.key += kBlock) {
      at.keys = std::min(kBlock, end - at.key);
      if (add_block(problem, at, rows, group.block(at.key, ahead), first_keys,
                    scratch, ahead))
        first_keys = false;
    }
    if (first_keys) std::fill_n(scratch.dq, at.queries * padded(s.width), 0.0f);
    if (dq)
      store_rows(scratch.dq, at.queries, s.width,
                 [&](int64_t) { return scale; }, !first,
                 {dq.at(b, h, query), dq.row});
  }
  group.store(gradients, b, h, scale);
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
      const int64_t next = std::min(head + 1, cut.heads - 1);
      backward_group(problem, gradients, {head / s.heads, head % s.heads},
                     {next / s.heads, next % s.heads}, group, dq,
                     group.begin == keys.begin,
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
        cut.parts == 1 && s.whole_heads() ? Schedule::even : Schedule::dynamic);
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
  if (is_short(problem.shape))
    return attention_short_backward(problem, gradients);
  HWY_DYNAMIC_DISPATCH(backward)(problem, gradients, workspace);
}
std::int64_t attention_flash_backward_workspace(const AttentionShape& shape) {
  if (is_short(shape)) return 0;
  return HWY_DYNAMIC_DISPATCH(backward_workspace)(shape);
}

}  // namespace qkv::kernels
#endif
