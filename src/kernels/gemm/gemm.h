// Matrix product: C = alpha · op(A) · op(B) + beta · C (+ bias on every row).
#pragma once

#include <cstdint>

namespace qkv::kernels {

// All matrices are row-major; op transposes when trans_x is set. op(A) is
// (m,k), op(B) is (k,n), C is (m,n); ld* is the distance between rows as
// stored. Any size may be 0: with k = 0 the product is 0. With beta = 0, C is
// not read. C overlaps neither A nor B.
template <class T>
struct Gemm {
  bool trans_a = false, trans_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  T alpha = 1;
  const T* a = nullptr;
  std::int64_t lda = 0;
  const T* b = nullptr;
  std::int64_t ldb = 0;
  T beta = 0;
  T* c = nullptr;
  std::int64_t ldc = 0;
  const T* bias = nullptr;  // (n), or none
};

// Elements of workspace that gemm wants; 0 for most shapes (a long sum over k
// is cut in parts, which are added in order). Depends on the shape alone.
template <class T>
std::int64_t gemm_workspace(const Gemm<T>& g);

// Every element is the sum over k in order: its bits depend on no other element
// and not on the threads. Only where A is transposed, k being the rows of a
// batch, is a long sum cut in parts, by the shape. double, and float on the
// reference path, take a plain blocked loop.
template <class T>
void gemm(const Gemm<T>& g, T* workspace);

// `batch` products of one shape: a, b and c of item i begin i·stride_* after
// those in g (stride_a or stride_b may be 0; items of C do not overlap).
template <class T>
void gemm_batched(const Gemm<T>& g, std::int64_t batch, std::int64_t stride_a,
                  std::int64_t stride_b, std::int64_t stride_c);

}  // namespace qkv::kernels
