#include "kernels/gemm/cut_gemm.h"

#include <gtest/gtest.h>

namespace qkv::kernels {
namespace {

using std::int64_t;

void check_cover(const GemmCut& cut, int64_t m, int64_t n, int64_t k) {
  const auto covers = [](int64_t size, int64_t part, int64_t parts) {
    // All of it, and the last part is not empty.
    return part > 0 && parts * part >= size && (parts - 1) * part < size;
  };
  EXPECT_TRUE(covers(m, cut.rows, cut.row_parts)) << m << " " << cut.rows;
  EXPECT_TRUE(covers(n, cut.cols, cut.col_parts)) << n << " " << cut.cols;
  EXPECT_TRUE(covers(k, cut.depth, cut.depth_parts)) << k << " " << cut.depth;
}

TEST(CutGemm, CoversEveryShapeWithoutEmptyBlocks) {
  for (int64_t m : {1, 2, 31, 33, 64, 100, 255, 257, 512, 4097, 50257})
    for (int64_t n : {1, 15, 47, 49, 96, 97, 384, 1025, 1536, 50257})
      for (int64_t k : {1, 64, 1023, 2048, 2049, 16384})
        for (int workers : {1, 2, 3, 16, 96}) {
          const GemmCut cut = cut_gemm(m, n, k, true, workers);
          check_cover(cut, m, n, k);
          // Sums are rounded: how they are cut may not depend on the workers.
          EXPECT_EQ(cut.depth, cut_gemm(m, n, k, true, 1).depth);
          const GemmCut flat = cut_gemm(m, n, k, false, workers);
          check_cover(flat, m, n, k);
          EXPECT_EQ(flat.depth_parts, 1);
          const GemmCut batched = cut_gemm_batched(7, m, n, k, workers);
          check_cover(batched, m, n, k);
          EXPECT_EQ(batched.depth_parts, 1);
        }
}

TEST(CutGemm, LeavesSmallProductsWholeAndCutsLargeOnes) {
  EXPECT_EQ(cut_gemm(64, 64, 64, true, 8).blocks(), 1);
  EXPECT_EQ(cut_gemm(192, 64, 500, true, 1).blocks(), 1);
  EXPECT_EQ(cut_gemm(512, 192, 64, false, 2).row_parts, 2);
  EXPECT_GE(cut_gemm(768, 512, 128, true, 8).blocks(), 8);
  EXPECT_GE(cut_gemm(16384, 1536, 384, true, 2).blocks(), 32);
  EXPECT_TRUE(cut_gemm(16384, 1536, 384, true, 2).large);
  EXPECT_GT(cut_gemm(64, 64, 16384, true, 1).depth_parts, 2);
  // The products of a batch are enough work for all.
  EXPECT_EQ(cut_gemm_batched(1000, 250, 300, 300, 16).blocks(), 1);
}

}  // namespace
}  // namespace qkv::kernels
