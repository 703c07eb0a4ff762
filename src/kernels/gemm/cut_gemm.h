// Into which blocks a matrix product is cut.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// C (m,n) in row_parts × col_parts blocks of at most rows × cols; the sum over
// k in depth_parts parts of at most `depth`. No block is empty.
struct GemmCut {
  std::int64_t rows, cols, depth;
  std::int64_t row_parts, col_parts, depth_parts;
  bool large;  // many blocks for each worker, to hand out one by one

  std::int64_t blocks() const { return row_parts * col_parts * depth_parts; }
};

// How many of the workers a product of that size is worth waking, one at least.
std::int64_t worth_workers(std::int64_t m, std::int64_t n, std::int64_t k,
                           std::int64_t workers);

// m, n, k >= 1. The depth is cut only when asked, and by the shape alone: the
// parts' sums are rounded. Rows and columns, which change no bit, are cut for
// the workers.
GemmCut cut_gemm(std::int64_t m, std::int64_t n, std::int64_t k, bool deep,
                 int workers);
// One of `batch` products of that shape: cut less the more there are, and
// never along k.
GemmCut cut_gemm_batched(std::int64_t batch, std::int64_t m, std::int64_t n,
                         std::int64_t k, int workers);

// A block's cost in the unit of kernels/cut.h.
std::int64_t block_cost(std::int64_t rows, std::int64_t cols, std::int64_t k);

}  // namespace qkv::kernels
