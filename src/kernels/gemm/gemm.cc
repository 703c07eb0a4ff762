#include "kernels/gemm/gemm.h"

#include <algorithm>

#include "kernels/cut.h"
#include "kernels/gemm/block_product.h"
#include "kernels/gemm/cut_gemm.h"
#include "kernels/gemm/reference.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

// c (n) = Σ of `parts` rows, `stride` apart, in order, + beta·c + bias.
void sum_parts(const float* part, int64_t parts, int64_t stride, int64_t n,
               const float* bias, float beta, float* c) {
  each(n, [&](int64_t j, auto lanes) QKV_INLINE_LAMBDA {
    Vec sum = load(part + j, lanes);
    for (int64_t p = 1; p < parts; ++p)
      sum = hn::Add(sum, load(part + p * stride + j, lanes));
    if (beta != 0) sum = hn::MulAdd(set(beta), load(c + j, lanes), sum);
    if (bias) sum = hn::Add(sum, load(bias + j, lanes));
    store(sum, c + j, lanes);
  });
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(sum_parts);

using std::int64_t;

GemmCut cut_of(const Gemm<float>& g, int workers) {
  return cut_gemm(g.m, g.n, g.k, g.trans_a, workers);
}

// One block of C and the part of k that is summed into it.
struct Block {
  int64_t row, rows, col, cols, depth_begin, depth;
};

// c (ldc) = alpha · the block's part of op(A)·op(B) + beta · c + bias.
void multiply(const Gemm<float>& g, const Block& b, float beta,
              const float* bias, float* c, int64_t ldc) {
  const int64_t k = b.depth_begin;
  multiply_block(
      {.trans_a = g.trans_a,
       .trans_b = g.trans_b,
       .rows = b.rows,
       .cols = b.cols,
       .depth = b.depth,
       .alpha = g.alpha,
       .a = g.a + (g.trans_a ? k * g.lda + b.row : b.row * g.lda + k),
       .lda = g.lda,
       .b = g.b + (g.trans_b ? b.col * g.ldb + k : k * g.ldb + b.col),
       .ldb = g.ldb,
       .beta = beta,
       .c = c,
       .ldc = ldc,
       .bias = bias});
}

// The same into C itself, over all of k.
void multiply(const Gemm<float>& g, const Block& b) {
  multiply(g, b, g.beta, g.bias ? g.bias + b.col : nullptr,
           g.c + b.row * g.ldc + b.col, g.ldc);
}

Block block_of(const Gemm<float>& g, const GemmCut& cut, int64_t index) {
  Block b;
  b.row = index / cut.col_parts * cut.rows;
  b.col = index % cut.col_parts * cut.cols;
  b.rows = std::min(cut.rows, g.m - b.row);
  b.cols = std::min(cut.cols, g.n - b.col);
  b.depth_begin = 0;
  b.depth = g.k;
  return b;
}

// C from the sums of the depth parts, each (m,n) in `parts`.
void join_parts(const Gemm<float>& g, int64_t depth_parts, const float* parts) {
  // Twice the cost of a plain loop: half of the parts lie in another core's
  // cache.
  for_rows(g.m, 2 * g.n * depth_parts, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) HWY_DYNAMIC_DISPATCH(sum_parts)
    (parts + i * g.n, depth_parts, g.m * g.n, g.n, g.bias, g.beta,
     g.c + i * g.ldc);
  });
}

void fast(const Gemm<float>& g, float* parts) {
  const GemmCut cut = cut_of(g, free_workers());
  const bool in_parts = cut.depth_parts > 1;
  parallel_for(
      cut.blocks(),
      [&](int64_t index) {
        // Part by part of k: a worker's blocks read the same rows.
        const int64_t blocks = cut.row_parts * cut.col_parts;
        Block b = block_of(g, cut, index % blocks);
        if (!in_parts) return multiply(g, b);
        const int64_t part = index / blocks;
        b.depth_begin = part * cut.depth;
        b.depth = std::min(cut.depth, g.k - b.depth_begin);
        multiply(g, b, 0, nullptr, parts + (part * g.m + b.row) * g.n + b.col,
                 g.n);
      },
      cut.large ? Schedule::dynamic : Schedule::even);
  if (in_parts) join_parts(g, cut.depth_parts, parts);
}

template <class T>
bool takes_fast(const Gemm<T>& g) {
  return use_fast<T>() && g.k > 0;
}

}  // namespace

template <class T>
int64_t gemm_workspace(const Gemm<T>& g) {
  if (g.m == 0 || g.n == 0 || !takes_fast(g)) return 0;
  if constexpr (std::is_same_v<T, float>) {
    const int64_t parts = cut_of(g, 1).depth_parts;
    return parts > 1 ? parts * g.m * g.n : 0;
  }
  return 0;
}

template <class T>
void gemm(const Gemm<T>& g, T* workspace) {
  if (g.m == 0 || g.n == 0) return;
  if constexpr (std::is_same_v<T, float>)
    if (takes_fast(g)) return fast(g, workspace);
  reference_gemm(g);
}

template <class T>
void gemm_batched(const Gemm<T>& g, int64_t batch, int64_t stride_a,
                  int64_t stride_b, int64_t stride_c) {
  if (g.m == 0 || g.n == 0 || batch == 0) return;
  const auto item = [&](int64_t i) {
    Gemm<T> one = g;
    one.a += i * stride_a;
    one.b += i * stride_b;
    one.c += i * stride_c;
    return one;
  };
  if constexpr (std::is_same_v<T, float>)
    if (takes_fast(g)) {
      const GemmCut cut =
          cut_gemm_batched(batch, g.m, g.n, g.k, free_workers());
      const int64_t blocks = cut.blocks();
      for_rows(batch * blocks, block_cost(cut.rows, cut.cols, g.k),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const Gemm<float> x = item(i / blocks);
                   multiply(x, block_of(x, cut, i % blocks));
                 }
               });
      return;
    }
  parallel_for(batch, [&](int64_t i) { reference_gemm(item(i)); });
}

template int64_t gemm_workspace(const Gemm<float>&);
template int64_t gemm_workspace(const Gemm<double>&);
template void gemm(const Gemm<float>&, float*);
template void gemm(const Gemm<double>&, double*);
template void gemm_batched(const Gemm<float>&, int64_t, int64_t, int64_t,
                           int64_t);
template void gemm_batched(const Gemm<double>&, int64_t, int64_t, int64_t,
                           int64_t);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
