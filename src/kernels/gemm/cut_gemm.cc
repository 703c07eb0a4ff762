#include "kernels/gemm/cut_gemm.h"

#include <algorithm>
#include <limits>

#include "core/divide.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

// A block of C, its rows of A and a panel of op(B) stay in a core's L2; where k
// is long, C and a stretch of A do.
constexpr int64_t kMaxRows = 256, kMaxCols = 512;
constexpr int64_t kDeepRows = 384, kDeepCols = 384;
// From so many full blocks a worker on, blocks are handed out one by one.
constexpr int64_t kManyBlocks = 4;
// The sum over k, which in a weight's gradient runs over the rows of a batch,
// is cut in halves where they are kHalf long: whoever computed the rows has
// them near. It is cut further where a part is long beside the block, as long
// as the parts of C together stay in cache.
constexpr int64_t kHalf = 256, kMinDepth = 1024, kDeep = 8, kMaxParts = 1 << 20;
// Rows, columns and depth that the tiles take at a time, on either set.
constexpr int64_t kRowStep = 8, kColStep = 16, kDepthStep = 64;
// What reading a column of op(B) or a row of op(A) costs, as if C had so many
// rows or columns more.
constexpr int64_t kRowsMore = 12, kColsMore = 8;

// About size / parts, a multiple of step.
int64_t part_size(int64_t size, int64_t parts, int64_t step) {
  return std::min(size, round_up(ceil_div(size, parts), step));
}

int64_t cut_depth(int64_t m, int64_t n, int64_t k) {
  const int64_t deep = kDeep * std::min(std::max(m, n), kDeepRows);
  int64_t parts = 1;
  const auto cut_again = [&] {
    const int64_t half = k / (2 * parts);
    return 2 * parts * m * n <= kMaxParts &&
           (parts == 1 ? half >= kHalf : half >= kMinDepth && k / parts > deep);
  };
  while (cut_again()) parts *= 2;
  return part_size(k, parts, kDepthStep);
}

// For `workers` at least, as many as the work is worth: the cut whose largest
// block is done first. Of equals the one with most rows parts: what a worker
// reads is then what it wrote before, in most chains of operations.
void cut_for(int64_t m, int64_t n, int64_t workers, GemmCut& cut) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t row_parts = workers; row_parts >= 1; --row_parts) {
    const int64_t rows = part_size(m, row_parts, kRowStep);
    const int64_t cols = part_size(n, ceil_div(workers, row_parts), kColStep);
    const int64_t cost = (rows + kRowsMore) * (cols + kColsMore);
    if (cost >= least) continue;
    least = cost;
    cut.rows = rows;
    cut.cols = cols;
  }
}

GemmCut cut_blocks(int64_t m, int64_t n, int64_t k, bool deep, int64_t depth,
                   int64_t workers) {
  const int64_t most_rows = deep ? kDeepRows : kMaxRows;
  const int64_t most_cols = deep ? kDeepCols : kMaxCols;
  GemmCut cut{m, n, depth, 1, 1, ceil_div(k, depth), false};
  workers = ceil_div(worth_workers(m, n, k, workers), cut.depth_parts);
  cut.large =
      ceil_div(m, most_rows) * ceil_div(n, most_cols) >= kManyBlocks * workers;
  if (!cut.large) cut_for(m, n, workers, cut);
  cut.rows = part_size(cut.rows, ceil_div(cut.rows, most_rows), kRowStep);
  cut.cols = part_size(cut.cols, ceil_div(cut.cols, most_cols), kColStep);
  cut.row_parts = ceil_div(m, cut.rows);
  cut.col_parts = ceil_div(n, cut.cols);
  return cut;
}

}  // namespace

int64_t worth_workers(int64_t m, int64_t n, int64_t k, int64_t workers) {
  constexpr double kWorkerWork = 1 << 18;  // about 2 µs
  const double worth = static_cast<double>(m) * static_cast<double>(n) *
                       static_cast<double>(k) / kWorkerWork;
  return static_cast<int64_t>(
      std::clamp<double>(worth, 1, static_cast<double>(workers)));
}

GemmCut cut_gemm(int64_t m, int64_t n, int64_t k, bool deep, int workers) {
  return cut_blocks(m, n, k, deep, deep ? cut_depth(m, n, k) : k, workers);
}

GemmCut cut_gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k,
                         int workers) {
  return cut_blocks(m, n, k, false, k, ceil_div(workers, batch));
}

int64_t block_cost(int64_t rows, int64_t cols, int64_t k) {
  // 32 multiply-adds a cycle against some four elements; 2000 for the call.
  return 2000 + rows * cols / 8 * k;
}

}  // namespace qkv::kernels
