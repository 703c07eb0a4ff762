#include "kernels/gemm/cut_gemm.h"

#include <algorithm>

namespace qkv::kernels {
namespace {

using std::int64_t;

// One call of oneDNN on one thread comes near the peak from about 2·10⁶
// multiply-adds and 64 rows on; below 10⁶ a second thread gains nothing.
constexpr int64_t kLeastWork = 1 << 20;  // multiply-adds worth two blocks
constexpr int64_t kBlockWork = 4 << 20;  // of a block, when many are to be had
constexpr int64_t kManyBlocks = 32;      // enough for threads to share evenly
// A block of C, with its rows of A and of op(B), should stay in a core's L2.
constexpr int64_t kMaxRows = 256, kMaxCols = 1024;
constexpr int64_t kMinRows = 32, kMinCols = 48;
constexpr int64_t kMinDepth = 1024;
// Rows and columns that oneDNN's kernel handles at a time, on either set.
constexpr int64_t kRowStep = 8, kColStep = 16;

int64_t parts_of(int64_t size, int64_t part) {
  return (size + part - 1) / part;
}

// About size / parts, a multiple of step.
int64_t part_size(int64_t size, int64_t parts, int64_t step) {
  const int64_t even = parts_of(size, parts);
  return std::min(size, parts_of(even, step) * step);
}

GemmCut cut_for(int64_t m, int64_t n, int64_t k, int64_t wanted) {
  GemmCut cut{m, n, k, 1, 1, 1};
  int64_t row_parts = 1, col_parts = 1;
  for (;;) {
    const bool enough = row_parts * col_parts >= wanted;
    const bool can_rows = cut.rows >= 2 * kMinRows;
    const bool can_cols = cut.cols >= 2 * kMinCols;
    const bool must_rows = cut.rows > kMaxRows, must_cols = cut.cols > kMaxCols;
    if (enough && !must_rows && !must_cols) break;
    if (!can_rows && !can_cols) break;
    // Near squares: a block packs rows + cols for rows · cols of work.
    const bool rows_next =
        must_rows ||
        (!must_cols && can_rows && (!can_cols || 2 * cut.rows >= cut.cols));
    if (rows_next)
      cut.rows = part_size(m, row_parts *= 2, kRowStep);
    else
      cut.cols = part_size(n, col_parts *= 2, kColStep);
  }
  cut.row_parts = parts_of(m, cut.rows);
  cut.col_parts = parts_of(n, cut.cols);
  return cut;
}

}  // namespace

GemmCut cut_gemm(int64_t m, int64_t n, int64_t k) {
  const double work =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  int64_t wanted = work >= kLeastWork ? 2 : 1;
  while (wanted < kManyBlocks && work >= 2.0 * kBlockWork * wanted) wanted *= 2;
  GemmCut cut = cut_for(m, n, k, wanted);
  const int64_t blocks = cut.row_parts * cut.col_parts;
  // A small C with a long k: parts of k make up for the missing blocks.
  if (2 * blocks <= wanted && k >= 2 * kMinDepth) {
    const int64_t parts = std::min(wanted / blocks, k / kMinDepth);
    cut.depth = part_size(k, parts, 64);
    cut.depth_parts = parts_of(k, cut.depth);
  }
  return cut;
}

GemmCut cut_gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k) {
  const int64_t whole =
      cut_gemm(m, n, k).row_parts * cut_gemm(m, n, k).col_parts;
  return cut_for(m, n, k, std::min(whole, parts_of(kManyBlocks, batch)));
}

int64_t block_cost(int64_t rows, int64_t cols, int64_t k) {
  // 32 multiply-adds a cycle against some four elements; 2000 for the call.
  return 2000 + rows * cols / 8 * k;
}

}  // namespace qkv::kernels
