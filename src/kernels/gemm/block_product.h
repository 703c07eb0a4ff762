// One block of a matrix product, on the calling thread.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// C = alpha · op(A) · op(B) + beta · C + bias, as in Gemm<float>.
struct BlockProduct {
  bool trans_a, trans_b;
  std::int64_t rows, cols, depth;  // of op(A), op(B), and of the sums
  float alpha;
  const float* a;
  std::int64_t lda;
  const float* b;
  std::int64_t ldb;
  float beta;
  float* c;
  std::int64_t ldc;
  const float* bias;  // (cols), or none
};

// Each element is bias + beta·C and then one product after the other, whatever
// the block's size: a product's bits do not depend on how it is cut.
void multiply_block(const BlockProduct& p);

}  // namespace qkv::kernels
