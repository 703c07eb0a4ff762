#include "kernels/attention/short.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/short.cc"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/parallel.h"
#include "kernels/attention/block_mask-inl.h"
#include "kernels/attention/block_products-inl.h"
#include "kernels/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels {
namespace HWY_NAMESPACE {
namespace {

// Heads that one task takes.
constexpr int64_t kHeads = 8;
// Heads side by side: their queries fill the lanes of a block. What one waits
// for, the others' work hides.
constexpr int64_t kBatch = kBlock / kShort;

// What a head's queries see. The same for all heads of a sequence unless the
// mask says more than positions.
struct ShortMask {
  BlockMask block;
  HWY_ALIGN float bias[kShort * kBlock];
  // Of each four queries the keys that any of them sees, and the other way
  // round.
  KeyRange keys[kShort / 4], queries[kShort / 4];
  std::uint64_t seen;  // bit i: query i sees a key

  ShortMask(const AttentionProblem<float>& problem, const Block& at) {
    block.strip_count = 0;
    if (at.keys > 0) set_mask(problem, at, block, bias);
    if (block.strip_count == 0) block.full = false;
    if (block.full || block.strip_count == 0)
      std::fill_n(block.visible, kShort,
                  block.full ? bit_range(0, at.queries) : 0);
    seen = 0;
    for (int64_t j = 0; j < at.keys; ++j) seen |= block.visible[j];
    for (int64_t i = 0; i < kShort; i += 4) {
      keys[i / 4] = keys_in_block(problem, at, i, 4);
      queries[i / 4] = queries_in_block(problem, at, i, 4);
    }
  }
};

// Heads of one sequence whose masks are the same.
struct Batch {
  Block at;  // the first
  int64_t count;

  Block head(int64_t n) const {
    Block head = at;
    head.h += n;
    return head;
  }
  int64_t lanes() const { return count * kShort; }
};

// body(batch, mask) for the heads in [begin, end).
template <class Body>
void each_batch(const AttentionProblem<float>& problem, int64_t begin,
                int64_t end, Body body) {
  const AttentionShape& s = problem.shape;
  const bool by_head =
      problem.mask.dense() || problem.mask.biased() || problem.dropout.on();
  for (int64_t head = begin; head < end;) {
    Block at{head / s.heads, head % s.heads, 0, s.queries, 0, 0};
    at.keys = problem.mask.keys_of(s, at.b, 0, s.queries - 1).end;
    ShortMask mask(problem, at);
    int64_t left = by_head ? 1 : std::min(end - head, s.heads - at.h);
    head += left;
    while (left > 0) {
      const Batch batch{at, std::min(left, kBatch)};
      body(batch, mask);
      at.h += batch.count;
      left -= batch.count;
    }
  }
}

HWY_INLINE void copy(const float* from, int64_t n, float* to) {
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    store(load(from + i, lanes), to + i, lanes);
  });
}
// As copy_rows.
template <int kWide>
HWY_INLINE bool copy_short_rows(Rows from, int64_t count, int64_t width,
                                float* to) {
  if (width != kWide) return copy_rows(from, count, width, to);
  Vec zeros = hn::Zero(kTag);
  for (int64_t i = 0; i < count; ++i) {
    HWY_UNROLL(8)
    for (int64_t c = 0; c < kWide; c += kLanes) {
      const Vec x = hn::LoadU(kTag, from.data + i * from.stride + c);
      hn::Store(x, kTag, to + i * kWide + c);
      zeros = hn::MulAdd(x, hn::Zero(kTag), zeros);
    }
  }
  if (count < kShort)
    std::fill_n(to + count * kWide, (kShort - count) * kWide, 0.0f);
  return hn::AllTrue(kTag, hn::Eq(zeros, hn::Zero(kTag)));
}

// Rows where they are, or a copy with zeros around where they are too few or
// too short.
template <int kWide>
Rows whole_rows(Rows x, int64_t count, int64_t width, float* copy) {
  if (count == kShort && width == kWide) return x;
  copy_short_rows<kWide>(x, count, width, copy);
  return {copy, kWide};
}

// products(j, i) = factor · Σ_c a(j,c)·x(i,c) for j < count and each query i:
// x is transposed in registers, a part of its columns at a time.
template <int kWide>
HWY_INLINE void set_short_products(Rows a, int64_t count, Rows x, float factor,
                                   float* products) {
  constexpr int kColumns = kLanes;
  for (int64_t i = 0; i < kShort; i += kLanes) {
    for (int64_t c = 0; c < kWide; c += kColumns) {
      Vec column[kColumns];
      HWY_UNROLL(4)
      for (int part = 0; part < kColumns; part += 4) {
        HWY_UNROLL(4)
        for (int r = 0; r < 4; ++r)
          column[part + r] = load_blocks(
              kTag, {x.data + (i + r) * x.stride + c + part, x.stride});
        transpose_blocks(column + part);
        HWY_UNROLL(4)
        for (int r = 0; r < 4; ++r)
          column[part + r] = hn::Mul(column[part + r], set(factor));
      }
      const auto add = [&]<int kRows>(int64_t j) QKV_INLINE_LAMBDA {
        const float* row = a.data + j * a.stride + c;
        float* to = products + j * kBlock + i;
        Vec sum[kRows];
        HWY_UNROLL(8)
        for (int r = 0; r < kRows; ++r)
          sum[r] = c == 0 ? hn::Zero(kTag) : hn::Load(kTag, to + r * kBlock);
        HWY_UNROLL(16)
        for (int k = 0; k < kColumns; ++k) {
          HWY_UNROLL(8)
          for (int r = 0; r < kRows; ++r)
            sum[r] = hn::MulAdd(set(row[r * a.stride + k]), column[k], sum[r]);
        }
        HWY_UNROLL(8)
        for (int r = 0; r < kRows; ++r)
          hn::Store(sum[r], kTag, to + r * kBlock);
      };
      constexpr int kRows = kLanes / 2;  // with the columns, in registers
      int64_t j = 0;
      for (; j + kRows <= count; j += kRows) add.template operator()<kRows>(j);
      for (; j < count; ++j) add.template operator()<1>(j);
    }
  }
}

// to(m, c) = factor(m) · Σ_k A(m,k)·x(k,c) for m < count, k in the range of
// each four rows. A is weights, or their transpose when kAcross.
template <bool kAcross, int kWide, class Factor>
HWY_INLINE void store_short_sums(const float* weights, const float* x,
                                 const KeyRange* ranges, int64_t count,
                                 int64_t width, Factor factor, MutableRows to) {
  constexpr int kAll = kWide / kLanes, kMost = kLanes == 16 ? 4 : 2;
  constexpr int kN = std::min(kAll, kMost);
  static_assert(kAll % kN == 0);
  for (int64_t m = 0; m < count; m += 4) {
    const auto [begin, end] = ranges[m / 4];
    const float* a =
        kAcross ? weights + begin * kBlock + m : weights + m * kBlock + begin;
    for (int64_t n = 0; n < kAll; n += kN) {
      Vec sum[4][kN];
      HWY_UNROLL(4)
      for (int r = 0; r < 4; ++r) {
        HWY_UNROLL(4)
        for (int v = 0; v < kN; ++v) sum[r][v] = hn::Zero(kTag);
      }
      add_products<kAcross, 4, kN>({a, kBlock},
                                   {x + begin * kWide + n * kLanes, kWide},
                                   end - begin, sum);
      HWY_UNROLL(4)
      for (int r = 0; r < 4; ++r) {
        if (m + r >= count) break;
        const Vec scale = set(factor(m + r));
        float* row = to.data + (m + r) * to.stride;
        HWY_UNROLL(4)
        for (int v = 0; v < kN; ++v) {
          const int64_t c = (n + v) * kLanes;
          const Vec y = hn::Mul(sum[r][v], scale);
          if (c + kLanes <= width)
            hn::StoreU(y, kTag, row + c);
          else if (c < width)
            store(y, row + c, first_lanes(width - c));
        }
      }
    }
  }
}

// Of the queries of a batch.
struct ShortSoftmax {
  HWY_ALIGN float base[kBlock] = {};
  HWY_ALIGN float inverse_sum[kBlock] = {};
};

// step<kN>(lane, i) for the lanes of a batch, kN vectors at a time; i is the
// first one's query.
template <class Step>
HWY_INLINE void each_lane(const Batch& batch, Step step) {
  int64_t lane = 0;
  for (; lane + 4 * kLanes <= batch.lanes(); lane += 4 * kLanes)
    step.template operator()<4>(lane);
  for (; lane < batch.lanes(); lane += kLanes)
    step.template operator()<1>(lane);
}
// The bit mask of a vector of a batch.
HWY_INLINE Mask mask_in(const std::uint64_t* bits, int64_t j, int64_t lane) {
  return mask_at(bits, j, lane % kShort);
}

// Scores to exponentials, in place: from the largest of each query.
HWY_INLINE void short_softmax(const Batch& batch, const ShortMask& mask,
                              float* scores, ShortSoftmax& softmax) {
  const Vec least = set(-std::numeric_limits<float>::infinity());
  const std::uint64_t* visible = mask.block.visible;
  each_lane(batch, [&]<int kN>(int64_t lane) QKV_INLINE_LAMBDA {
    Vec max[kN], base[kN], sum[kN];
    HWY_UNROLL(4)
    for (int n = 0; n < kN; ++n) max[n] = least;
    for (int64_t j = 0; j < batch.at.keys; ++j) {
      HWY_UNROLL(4)
      for (int n = 0; n < kN; ++n) {
        const int64_t i = lane + n * kLanes;
        const Vec score = hn::Load(kTag, scores + j * kBlock + i);
        max[n] = hn::Max(max[n],
                         hn::IfThenElse(mask_in(visible, j, i), score, least));
      }
    }
    HWY_UNROLL(4)
    for (int n = 0; n < kN; ++n) {
      base[n] = hn::IfThenElseZero(hn::Gt(max[n], least), max[n]);
      sum[n] = hn::Zero(kTag);
    }
    for (int64_t j = 0; j < batch.at.keys; ++j) {
      HWY_UNROLL(4)
      for (int n = 0; n < kN; ++n) {
        const int64_t i = lane + n * kLanes;
        float* score = scores + j * kBlock + i;
        const Vec p =
            hn::IfThenElseZero(mask_in(visible, j, i),
                               exp2(hn::Sub(hn::Load(kTag, score), base[n])));
        sum[n] = hn::Add(sum[n], p);
        hn::Store(p, kTag, score);
      }
    }
    HWY_UNROLL(4)
    for (int n = 0; n < kN; ++n) {
      const int64_t i = lane + n * kLanes;
      hn::Store(base[n], kTag, softmax.base + i);
      hn::Store(hn::IfThenElseZero(mask_in(&mask.seen, 0, i),
                                   hn::Div(set(1.0f), sum[n])),
                kTag, softmax.inverse_sum + i);
    }
  });
}

// What is left of exponentials after dropout, in place.
void drop(const AttentionProblem<float>& problem, const Block& at,
          BlockMask& mask, float* weights) {
  draw_keep(problem, at, mask);
  for (int64_t j = 0; j < at.keys; ++j)
    for (int64_t i = 0; i < kShort; i += kLanes) {
      float* weight = weights + j * kBlock + i;
      hn::Store(
          hn::IfThenElseZero(mask_at(mask.keep, j, i), hn::Load(kTag, weight)),
          kTag, weight);
    }
}

void write_weights(const AttentionOutput<float>& output,
                   const AttentionShape& s, const Block& at,
                   const float* scores, const float* inverse_sum) {
  const int64_t slot = output.weight_slot(at.h);
  if (slot < 0) return;
  float* to = output.weights +
              (at.b * output.weight_head_count + slot) * s.queries * s.keys;
  for (int64_t i = 0; i < s.queries; ++i)
    for (int64_t j = 0; j < s.keys; ++j)
      *to++ = j < at.keys ? scores[j * kBlock + i] * inverse_sum[i] : 0;
}

template <int kWide>
void forward_heads(const AttentionProblem<float>& problem,
                   const AttentionOutput<float>& output, int64_t begin,
                   int64_t end) {
  const AttentionShape& s = problem.shape;
  HWY_ALIGN float q_copy[kShort * kWide], k_copy[kShort * kWide];
  HWY_ALIGN float values[kBatch][kShort * kWide], out[kShort * kWide];
  HWY_ALIGN float scores[kShort * kBlock] = {};
  ShortSoftmax softmax;
  bool finite[kBatch];
  const bool dropout = problem.dropout.on();
  const float scale = static_cast<float>(problem.scale * kLog2E);
  const float keep_scale = static_cast<float>(problem.dropout.scale());
  Ahead nothing(s.width);
  each_batch(problem, begin, end, [&](const Batch& batch, ShortMask& mask) {
    for (int64_t n = 0; n < batch.count; ++n) {
      const Block at = batch.head(n);
      const Rows q = whole_rows<kWide>(rows_of(problem.q, at, 0), s.queries,
                                       s.width, q_copy);
      const Rows k =
          whole_rows<kWide>(rows_of(problem.k, at, 0), s.keys, s.width, k_copy);
      finite[n] = copy_short_rows<kWide>(rows_of(problem.v, at, 0), at.keys,
                                         s.width, values[n]);
      set_short_products<kWide>(k, at.keys, q, scale, scores + n * kShort);
    }
    if (problem.mask.biased()) add_bias(mask.block, mask.bias, scores);
    short_softmax(batch, mask, scores, softmax);
    for (int64_t n = 0; n < batch.count; ++n) {
      const Block at = batch.head(n);
      const float* base = softmax.base + n * kShort;
      const float* inverse_sum = softmax.inverse_sum + n * kShort;
      float* weights = scores + n * kShort;
      const int64_t row = (at.b * s.heads + at.h) * s.queries;
      copy(base, s.queries, output.rows.max + row);
      copy(inverse_sum, s.queries, output.rows.inverse_sum + row);
      if (output.weights) write_weights(output, s, at, weights, inverse_sum);
      if (dropout) drop(problem, at, mask.block, weights);
      const auto factor = [&](int64_t i) QKV_INLINE_LAMBDA {
        return inverse_sum[i] * keep_scale;
      };
      const MutableRows to{output.out.at(at.b, at.h, 0), output.out.row};
      if (finite[n]) {
        store_short_sums<true, kWide>(weights, values[n], mask.keys, s.queries,
                                      s.width, factor, to);
      } else {
        add_over<true>(problem, {{values[n], kWide}, false}, at, mask.block,
                       weights, true, {out, kWide}, nothing);
        store_rows(out, s.queries, s.width, factor, false, to);
      }
    }
  });
}

// In place: scores -> weights after dropout, d weights -> d scores.
HWY_INLINE void short_softmax_backward(const AttentionProblem<float>& problem,
                                       const Batch& batch, bool dropout,
                                       ShortMask& mask,
                                       const ShortSoftmax& softmax,
                                       const float* d, float* weights,
                                       float* dscores) {
  const Vec keep_scale = set(static_cast<float>(problem.dropout.scale()));
  if (dropout) draw_keep(problem, batch.at, mask.block);
  each_lane(batch, [&]<int kN>(int64_t lane) QKV_INLINE_LAMBDA {
    for (int64_t j = 0; j < batch.at.keys; ++j) {
      HWY_UNROLL(4)
      for (int n = 0; n < kN; ++n) {
        const int64_t i = lane + n * kLanes;
        float* weight = weights + j * kBlock + i;
        float* dscore = dscores + j * kBlock + i;
        const Mask seen = mask_in(mask.block.visible, j, i);
        const Vec x =
            hn::Sub(hn::Load(kTag, weight), hn::Load(kTag, softmax.base + i));
        const Vec a = hn::IfThenElseZero(
            seen, hn::Mul(exp2(x), hn::Load(kTag, softmax.inverse_sum + i)));
        Vec kept = a, da = hn::Load(kTag, dscore);
        if (dropout) {
          const Mask keep = mask_in(mask.block.keep, j, i);
          kept = hn::IfThenElseZero(keep, hn::Mul(a, keep_scale));
          da = hn::IfThenElseZero(keep, hn::Mul(da, keep_scale));
        }
        hn::Store(kept, kTag, weight);
        hn::Store(hn::IfThenElseZero(
                      seen, hn::Mul(a, hn::Sub(da, hn::Load(kTag, d + i)))),
                  kTag, dscore);
      }
    }
  });
}

// The arrays of one head that backward multiplies, (row, c), padded.
template <int kWide>
struct ShortHead {
  HWY_ALIGN float q[kShort * kWide];
  HWY_ALIGN float k[kShort * kWide];
  HWY_ALIGN float g[kShort * kWide];
  bool q_finite, k_finite, g_finite;

  void load(const AttentionProblem<float>& problem,
            const AttentionGradients<float>& gradients, const Block& at) {
    const AttentionShape& s = problem.shape;
    q_finite = copy_short_rows<kWide>(rows_of(problem.q, at, 0), s.queries,
                                      s.width, q);
    k_finite =
        copy_short_rows<kWide>(rows_of(problem.k, at, 0), s.keys, s.width, k);
    g_finite = copy_short_rows<kWide>(rows_of(gradients.dout, at, 0), s.queries,
                                      s.width, g);
  }
};

// The gradients of one head from its weights and d scores.
template <int kWide>
HWY_INLINE void store_gradients(const AttentionProblem<float>& problem,
                                const AttentionGradients<float>& gradients,
                                const Block& at, const ShortMask& mask,
                                const ShortHead<kWide>& head,
                                const float* weights, const float* dscores) {
  const AttentionShape& s = problem.shape;
  const float scale = static_cast<float>(problem.scale);
  HWY_ALIGN float sums[kShort * kWide];
  const MutableRows out{sums, kWide};
  Ahead nothing(s.width);
  const auto over_queries = [&](const float* factors, const float* x,
                                bool finite, float factor,
                                const HeadRows<float>& gradient) {
    if (!gradient) return;
    const auto constant = [&](int64_t) QKV_INLINE_LAMBDA { return factor; };
    const MutableRows to{gradient.at(at.b, at.h, 0), gradient.row};
    if (finite) {
      store_short_sums<false, kWide>(factors, x, mask.queries, at.keys, s.width,
                                     constant, to);
    } else {
      add_over<false>(problem, {{x, kWide}, false}, at, mask.block, factors,
                      true, out, nothing);
      store_rows(sums, at.keys, s.width, constant, false, to);
    }
    for (int64_t j = at.keys; j < s.keys; ++j)
      std::fill_n(to.data + j * to.stride, s.width, 0.0f);
  };
  over_queries(weights, head.g, head.g_finite, 1.0f, gradients.dv);
  over_queries(dscores, head.q, head.q_finite, scale, gradients.dk);
  if (!gradients.dq) return;
  const auto constant = [&](int64_t) QKV_INLINE_LAMBDA { return scale; };
  const MutableRows to{gradients.dq.at(at.b, at.h, 0), gradients.dq.row};
  if (head.k_finite) {
    store_short_sums<true, kWide>(dscores, head.k, mask.keys, s.queries,
                                  s.width, constant, to);
  } else {
    add_over<true>(problem, {{head.k, kWide}, false}, at, mask.block, dscores,
                   true, out, nothing);
    store_rows(sums, s.queries, s.width, constant, false, to);
  }
}

template <int kWide>
void backward_heads(const AttentionProblem<float>& problem,
                    const AttentionGradients<float>& gradients, int64_t begin,
                    int64_t end) {
  const AttentionShape& s = problem.shape;
  ShortHead<kWide> heads[kBatch];
  HWY_ALIGN float v_copy[kShort * kWide];
  HWY_ALIGN float weights[kShort * kBlock] = {};
  HWY_ALIGN float dscores[kShort * kBlock] = {};
  HWY_ALIGN float d[kBlock] = {};
  ShortSoftmax softmax;
  const bool dropout = problem.dropout.on();
  const float scale = static_cast<float>(problem.scale * kLog2E);
  each_batch(problem, begin, end, [&](const Batch& batch, ShortMask& mask) {
    for (int64_t n = 0; n < batch.count; ++n) {
      const Block at = batch.head(n);
      const int64_t lane = n * kShort;
      ShortHead<kWide>& head = heads[n];
      head.load(problem, gradients, at);
      const Rows v =
          whole_rows<kWide>(rows_of(problem.v, at, 0), s.keys, s.width, v_copy);
      const int64_t row = (at.b * s.heads + at.h) * s.queries;
      copy(gradients.rows.max + row, s.queries, softmax.base + lane);
      copy(gradients.rows.inverse_sum + row, s.queries,
           softmax.inverse_sum + lane);
      row_products({head.g, kWide}, rows_of(gradients.out, at, 0), s.queries,
                   s.width, d + lane);
      set_short_products<kWide>({head.k, kWide}, at.keys, {head.q, kWide},
                                scale, weights + lane);
      set_short_products<kWide>(v, at.keys, {head.g, kWide}, 1.0f,
                                dscores + lane);
    }
    if (problem.mask.biased()) add_bias(mask.block, mask.bias, weights);
    short_softmax_backward(problem, batch, dropout, mask, softmax, d, weights,
                           dscores);
    for (int64_t n = 0; n < batch.count; ++n)
      store_gradients(problem, gradients, batch.head(n), mask, heads[n],
                      weights + n * kShort, dscores + n * kShort);
  });
}

// body(begin, end) for the heads, by the multiple of 16 that their width needs.
template <class Body>
void cut_heads(const AttentionShape& s, Body body) {
  const int64_t heads = s.batch * s.heads;
  if (heads == 0) return;
  const auto run = [&]<int kWide>() {
    const auto part = [&](int64_t begin, int64_t end) {
      body.template operator()<kWide>(begin, end);
    };
    if (s.rows() * s.keys * s.width < kSerialWork)
      part(0, heads);
    else
      parallel_ranges(heads, kHeads, part);
  };
  if (s.width <= 16)
    run.template operator()<16>();
  else if (s.width <= 32)
    run.template operator()<32>();
  else if (s.width <= 48)
    run.template operator()<48>();
  else
    run.template operator()<64>();
}

void forward(const AttentionProblem<float>& problem,
             const AttentionOutput<float>& output) {
  cut_heads(problem.shape, [&]<int kWide>(int64_t begin, int64_t end) {
    forward_heads<kWide>(problem, output, begin, end);
  });
}

void backward(const AttentionProblem<float>& problem,
              const AttentionGradients<float>& gradients) {
  cut_heads(problem.shape, [&]<int kWide>(int64_t begin, int64_t end) {
    backward_heads<kWide>(problem, gradients, begin, end);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace qkv::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {

HWY_EXPORT(forward);
HWY_EXPORT(backward);

void attention_short(const AttentionProblem<float>& problem,
                     const AttentionOutput<float>& output) {
  HWY_DYNAMIC_DISPATCH(forward)(problem, output);
}
void attention_short_backward(const AttentionProblem<float>& problem,
                              const AttentionGradients<float>& gradients) {
  HWY_DYNAMIC_DISPATCH(backward)(problem, gradients);
}

}  // namespace qkv::kernels
#endif
