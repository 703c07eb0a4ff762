#include "kernels/gemm/gemm.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>

#include "core/check.h"
#include "kernels/cut.h"
#include "kernels/gemm/cut_gemm.h"
#include "kernels/gemm/reference.h"
#include "kernels/gemm/signals_held.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

// c (rows,cols; ldc) += bias (cols).
void add_bias(const float* bias, int64_t rows, int64_t cols, float* c,
              int64_t ldc) {
  for (int64_t i = 0; i < rows; ++i, c += ldc)
    each(cols, [&](int64_t j, auto lanes) QKV_INLINE_LAMBDA {
      store(hn::Add(load(c + j, lanes), load(bias + j, lanes)), c + j, lanes);
    });
}

// c (n) = beta·c + Σ of `parts` rows, `stride` apart, in order.
void sum_parts(const float* part, int64_t parts, int64_t stride, int64_t n,
               float beta, float* c) {
  each(n, [&](int64_t j, auto lanes) QKV_INLINE_LAMBDA {
    Vec sum = load(part + j, lanes);
    for (int64_t p = 1; p < parts; ++p)
      sum = hn::Add(sum, load(part + p * stride + j, lanes));
    if (beta != 0) sum = hn::MulAdd(set(beta), load(c + j, lanes), sum);
    store(sum, c + j, lanes);
  });
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(add_bias);
HWY_EXPORT(sum_parts);

using std::int64_t;

// oneDNN starts threads of its own unless a parallel region runs: while one
// lives, it computes on the calling thread alone.
class OneThread {
 public:
  OneThread() : before_(omp_in_parallel() ? 1 : omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// One block of C and the part of k that is summed into it.
struct Block {
  int64_t row, rows, col, cols, depth_begin, depth;
};

// When both operands are read down their columns, one that is too large for the
// caches is copied first, kPackDepth rows of a block at a time: oneDNN reads a
// few columns of all rows at once, and rows far apart fall into the same few
// places of the cache.
constexpr int64_t kPackDepth = 256;
constexpr int64_t kPackGap = 16;  // behind each copied row, against the same
constexpr int64_t kPackFrom = 1 << 20;  // elements of the operand

// Of an operand with rows `ld` apart of which a block takes `part` elements.
bool packs(int64_t k, int64_t ld, int64_t part) {
  return ld > part && k * ld >= kPackFrom;
}
bool packs(const Gemm<float>& g, const GemmCut& cut) {
  return g.trans_a && !g.trans_b &&
         (packs(g.k, g.lda, cut.rows) || packs(g.k, g.ldb, cut.cols));
}

// Elements of one worker's copies.
int64_t pack_size(const GemmCut& cut) {
  return kPackDepth * (cut.rows + cut.cols + 2 * kPackGap);
}

// Copies rows × cols of x (ldx) to `to`; x and ldx become the copy's.
void pack(int64_t rows, int64_t cols, const float*& x, int64_t& ldx,
          float* to) {
  const int64_t ld = cols + kPackGap;
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(x + i * ldx, cols, to + i * ld);
  x = to;
  ldx = ld;
}

// c (ldc) = alpha · the block's part of op(A)·op(B) + beta · c. `copies`: room
// for pack_size elements when operands are to be copied, else null.
void multiply(const Gemm<float>& g, const Block& b, float beta, float* c,
              int64_t ldc, float* copies) {
  const SignalsHeld held;
  const int64_t stretch = copies ? kPackDepth : b.depth;
  for (int64_t k = b.depth_begin; k < b.depth_begin + b.depth; k += stretch) {
    const int64_t depth = std::min(stretch, b.depth_begin + b.depth - k);
    const float* a = g.a + (g.trans_a ? k * g.lda + b.row : b.row * g.lda + k);
    const float* from_b =
        g.b + (g.trans_b ? b.col * g.ldb + k : k * g.ldb + b.col);
    int64_t lda = g.lda, ldb = g.ldb;
    if (copies && packs(g.k, lda, b.rows)) pack(depth, b.rows, a, lda, copies);
    if (copies && packs(g.k, ldb, b.cols))
      pack(depth, b.cols, from_b, ldb,
           copies + kPackDepth * (b.rows + kPackGap));
    const dnnl_status_t status =
        dnnl_sgemm(g.trans_a ? 'T' : 'N', g.trans_b ? 'T' : 'N', b.rows, b.cols,
                   depth, g.alpha, a, lda, from_b, ldb, beta, c, ldc);
    if (status != dnnl_success)
      fail_internal("dnnl_sgemm failed ({}) for {}x{}x{}",
                    static_cast<int>(status), b.rows, b.cols, depth);
    beta = 1;
  }
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

void finish(const Gemm<float>& g, const Block& b,
            const GemmEpilogue* epilogue) {
  if (g.bias) HWY_DYNAMIC_DISPATCH(add_bias)
  (g.bias + b.col, b.rows, b.cols, g.c + b.row * g.ldc + b.col, g.ldc);
  if (epilogue) (*epilogue)(b.row, b.row + b.rows, b.col, b.col + b.cols);
}

// C from the sums of the depth parts, each (m,n) in `parts`.
void join_parts(const Gemm<float>& g, const GemmCut& cut, const float* parts,
                const GemmEpilogue* epilogue) {
  for_rows(g.m, g.n * cut.depth_parts, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) HWY_DYNAMIC_DISPATCH(sum_parts)
    (parts + i * g.n, cut.depth_parts, g.m * g.n, g.n, g.beta, g.c + i * g.ldc);
    finish(g, {begin, end - begin, 0, g.n, 0, 0}, epilogue);
  });
}

void fast(const Gemm<float>& g, float* workspace,
          const GemmEpilogue* epilogue) {
  const GemmCut cut = cut_gemm(g.m, g.n, g.k);
  const int64_t blocks = cut.row_parts * cut.col_parts;
  const bool in_parts = cut.depth_parts > 1;
  float* parts = workspace;  // (depth_parts, m, n), when in_parts
  float* copies = in_parts ? parts + cut.depth_parts * g.m * g.n : workspace;
  if (!packs(g, cut)) copies = nullptr;
  const bool alone = omp_in_parallel();  // then one worker does it all
  const OneThread one;
  parallel_for_worker(blocks * cut.depth_parts, [&](int64_t index, int worker) {
    Block b = block_of(g, cut, index % blocks);
    const int64_t part = index / blocks;
    b.depth_begin = part * cut.depth;
    b.depth = std::min(cut.depth, g.k - b.depth_begin);
    float* mine = copies && !alone ? copies + worker * pack_size(cut) : copies;
    if (in_parts) {
      float* c = parts + (part * g.m + b.row) * g.n + b.col;
      multiply(g, b, 0, c, g.n, mine);
    } else {
      float* c = g.c + b.row * g.ldc + b.col;
      multiply(g, b, g.beta, c, g.ldc, mine);
      finish(g, b, epilogue);
    }
  });
  if (in_parts) join_parts(g, cut, parts, epilogue);
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
    const GemmCut cut = cut_gemm(g.m, g.n, g.k);
    const int64_t parts = cut.depth_parts > 1 ? cut.depth_parts * g.m * g.n : 0;
    return parts + (packs(g, cut) ? worker_count() * pack_size(cut) : 0);
  }
  return 0;
}

template <class T>
void gemm(const Gemm<T>& g, T* workspace, const GemmEpilogue* epilogue) {
  if (g.m == 0 || g.n == 0) return;
  if constexpr (std::is_same_v<T, float>)
    if (takes_fast(g)) return fast(g, workspace, epilogue);
  reference_gemm(g, epilogue);
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
      const GemmCut cut = cut_gemm_batched(batch, g.m, g.n, g.k);
      const int64_t blocks = cut.row_parts * cut.col_parts;
      const OneThread one;
      for_rows(batch * blocks, block_cost(cut.rows, cut.cols, g.k),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const Gemm<float> x = item(i / blocks);
                   const Block b = block_of(x, cut, i % blocks);
                   multiply(x, b, x.beta, x.c + b.row * x.ldc + b.col, x.ldc,
                            nullptr);
                   finish(x, b, nullptr);
                 }
               });
      return;
    }
  parallel_for(batch, [&](int64_t i) { reference_gemm(item(i), nullptr); });
}

template int64_t gemm_workspace(const Gemm<float>&);
template int64_t gemm_workspace(const Gemm<double>&);
template void gemm(const Gemm<float>&, float*, const GemmEpilogue*);
template void gemm(const Gemm<double>&, double*, const GemmEpilogue*);
template void gemm_batched(const Gemm<float>&, int64_t, int64_t, int64_t,
                           int64_t);
template void gemm_batched(const Gemm<double>&, int64_t, int64_t, int64_t,
                           int64_t);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
