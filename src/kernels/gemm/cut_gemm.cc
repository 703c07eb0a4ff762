#include "kernels/gemm/cut_gemm.h"

#include <algorithm>

namespace qkv::kernels {
namespace {

using std::int64_t;

// One call of oneDNN on one thread comes near the peak from about 2·10⁶
// multiply-adds and 64 rows on; below 10⁶ a second thread gains nothing.
constexpr int64_t kLeastWork = 1 << 20;   // multiply-adds worth two blocks
constexpr int64_t kBlockWork = 4 << 20;   // of each block, up to kSomeBlocks
constexpr int64_t kLargeWork = 16 << 20;  // of each block, up to kManyBlocks
constexpr int64_t kSomeBlocks = 8, kManyBlocks = 16;
// A block of C, with its rows of A and of op(B), should stay in a core's L2.
constexpr int64_t kMaxRows = 256, kMaxCols = 1024;
constexpr int64_t kMinRows = 32, kMinCols = 48;
// A part of k pays for the sum over the parts when it is long beside the block,
// and the parts of C together stay in cache.
constexpr int64_t kMinDepth = 1024, kDeep = 8, kMaxParts = 1 << 20;
// Rows, columns and depth that oneDNN's kernels take at a time, on either set.
constexpr int64_t kRowStep = 8, kColStep = 16, kDepthStep = 64;

int64_t parts_of(int64_t size, int64_t part) {
  return (size + part - 1) / part;
}

// About size / parts, a multiple of step.
int64_t part_size(int64_t size, int64_t parts, int64_t step) {
  const int64_t even = parts_of(size, parts);
  return std::min(size, parts_of(even, step) * step);
}

// At least `wanted` blocks, if the shape can give them.
GemmCut cut_for(int64_t m, int64_t n, int64_t k, int64_t wanted, bool deep) {
  GemmCut cut{m, n, k, 1, 1, 1};
  int64_t row_parts = 1, col_parts = 1, depth_parts = 1;
  const auto cut_rows = [&] {
    cut.rows = part_size(m, row_parts *= 2, kRowStep);
  };
  const auto cut_cols = [&] {
    cut.cols = part_size(n, col_parts *= 2, kColStep);
  };
  while (cut.rows > kMaxRows) cut_rows();
  while (cut.cols > kMaxCols) cut_cols();
  while (row_parts * col_parts * depth_parts < wanted) {
    const bool can_rows = cut.rows >= 2 * kMinRows;
    const bool can_cols = cut.cols >= 2 * kMinCols;
    const bool can_depth = deep && cut.depth >= 2 * kMinDepth &&
                           2 * depth_parts * m * n <= kMaxParts;
    // Near squares: a block packs rows + cols for rows · cols of work.
    if (can_depth && cut.depth > kDeep * std::max(cut.rows, cut.cols))
      cut.depth = part_size(k, depth_parts *= 2, kDepthStep);
    else if (can_rows && (cut.rows >= cut.cols || !can_cols))
      cut_rows();
    else if (can_cols)
      cut_cols();
    else
      break;
  }
  cut.row_parts = parts_of(m, cut.rows);
  cut.col_parts = parts_of(n, cut.cols);
  cut.depth_parts = parts_of(k, cut.depth);
  return cut;
}

// A power of two: more blocks share the work more evenly, but pack more.
int64_t wanted_blocks(int64_t m, int64_t n, int64_t k) {
  const double work =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  int64_t wanted = work >= kLeastWork ? 2 : 1;
  const auto enough_for = [&](int64_t blocks) {
    const int64_t each = blocks <= kSomeBlocks ? kBlockWork : kLargeWork;
    return work >= static_cast<double>(blocks * each);
  };
  while (wanted < kManyBlocks && enough_for(2 * wanted)) wanted *= 2;
  return wanted;
}

}  // namespace

GemmCut cut_gemm(int64_t m, int64_t n, int64_t k) {
  return cut_for(m, n, k, wanted_blocks(m, n, k), true);
}

GemmCut cut_gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k) {
  const int64_t wanted =
      std::min(wanted_blocks(m, n, k), parts_of(kManyBlocks, batch));
  return cut_for(m, n, k, wanted, false);
}

int64_t block_cost(int64_t rows, int64_t cols, int64_t k) {
  // 32 multiply-adds a cycle against some four elements; 2000 for the call.
  return 2000 + rows * cols / 8 * k;
}

}  // namespace qkv::kernels
