#include "kernels/gemm/gemm.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>

#include "core/check.h"
#include "kernels/cut.h"
#include "kernels/gemm/cut_gemm.h"
#include "kernels/gemm/reference.h"
#include "kernels/path.h"

namespace qkv::kernels {
namespace {

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

struct Block {
  int64_t row, rows, col, cols, depth_begin, depth;
};

void add_bias(const Gemm<float>& g, const Block& b) {
  for (int64_t i = b.row; i < b.row + b.rows; ++i) {
    float* c = g.c + i * g.ldc;
    for (int64_t j = b.col; j < b.col + b.cols; ++j) c[j] += g.bias[j];
  }
}

// c (ldc) = alpha · the block's part of op(A)·op(B) + beta · c.
void multiply(const Gemm<float>& g, const Block& b, float beta, float* c,
              int64_t ldc) {
  // A transposed A is read down its columns: in short stretches, so that the
  // pages touched at a time stay few.
  const int64_t stretch = g.trans_a ? kTransposedDepth : b.depth;
  for (int64_t k = b.depth_begin; k < b.depth_begin + b.depth; k += stretch) {
    const int64_t depth = std::min(stretch, b.depth_begin + b.depth - k);
    const float* a = g.a + (g.trans_a ? k * g.lda + b.row : b.row * g.lda + k);
    const float* from_b =
        g.b + (g.trans_b ? b.col * g.ldb + k : k * g.ldb + b.col);
    const dnnl_status_t status =
        dnnl_sgemm(g.trans_a ? 'T' : 'N', g.trans_b ? 'T' : 'N', b.rows, b.cols,
                   depth, g.alpha, a, g.lda, from_b, g.ldb, beta, c, ldc);
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
  if (g.bias) add_bias(g, b);
  if (epilogue) (*epilogue)(b.row, b.row + b.rows, b.col, b.col + b.cols);
}

// C from the sums of the depth parts, each (m,n) in workspace.
void join_parts(const Gemm<float>& g, int64_t parts, const float* workspace,
                const GemmEpilogue* epilogue) {
  for_rows(g.m, g.n * parts, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* c = g.c + i * g.ldc;
      for (int64_t j = 0; j < g.n; ++j) {
        float sum = g.beta == 0 ? 0 : g.beta * c[j];
        for (int64_t p = 0; p < parts; ++p)
          sum += workspace[(p * g.m + i) * g.n + j];
        c[j] = sum;
      }
    }
    finish(g, {begin, end - begin, 0, g.n, 0, 0}, epilogue);
  });
}

void fast(const Gemm<float>& g, float* workspace,
          const GemmEpilogue* epilogue) {
  const GemmCut cut = cut_gemm(g.m, g.n, g.k);
  const int64_t blocks = cut.row_parts * cut.col_parts;
  const OneThread one;
  if (cut.depth_parts == 1) {
    parallel_for(blocks, [&](int64_t index) {
      const Block b = block_of(g, cut, index);
      multiply(g, b, g.beta, g.c + b.row * g.ldc + b.col, g.ldc);
      finish(g, b, epilogue);
    });
    return;
  }
  parallel_for(blocks * cut.depth_parts, [&](int64_t index) {
    const int64_t part = index / blocks;
    Block b = block_of(g, cut, index % blocks);
    b.depth_begin = part * cut.depth;
    b.depth = std::min(cut.depth, g.k - b.depth_begin);
    multiply(g, b, 0, workspace + (part * g.m + b.row) * g.n + b.col, g.n);
  });
  join_parts(g, cut.depth_parts, workspace, epilogue);
}

template <class T>
bool takes_fast(const Gemm<T>& g) {
  return use_fast<T>() && g.k > 0;
}

}  // namespace

template <class T>
int64_t gemm_workspace(const Gemm<T>& g) {
  if (g.m == 0 || g.n == 0 || !takes_fast(g)) return 0;
  const int64_t parts = cut_gemm(g.m, g.n, g.k).depth_parts;
  return parts == 1 ? 0 : parts * g.m * g.n;
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
                   multiply(x, b, x.beta, x.c + b.row * x.ldc + b.col, x.ldc);
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
