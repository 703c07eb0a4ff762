// The matrix products of a linear layer, y = x Wᵀ + b, on rows that lie one
// after another: x (rows,in), weight (out,in), y (rows,out).
#pragma once

#include <cstdint>

#include "ops/gemm.h"

namespace qkv {

template <class T>
struct LinearProducts {
  const T* weight;
  std::int64_t in, out;

  // y; bias (out), or null.
  void forward(const T* x, std::int64_t rows, const T* bias, T* y) const {
    run_gemm<T>({.trans_b = true,
                 .m = rows,
                 .n = out,
                 .k = in,
                 .a = x,
                 .lda = in,
                 .b = weight,
                 .ldb = in,
                 .c = y,
                 .ldc = out,
                 .bias = bias});
  }
  // dx = dy W.
  void to_input(const T* dy, std::int64_t rows, T* dx) const {
    run_gemm<T>({.m = rows,
                 .n = in,
                 .k = out,
                 .a = dy,
                 .lda = out,
                 .b = weight,
                 .ldb = in,
                 .c = dx,
                 .ldc = in});
  }
  // dW = dyᵀ x + beta·dW.
  void to_weight(const T* dy, const T* x, std::int64_t rows, T* dw,
                 T beta = 0) const {
    run_gemm<T>({.trans_a = true,
                 .m = out,
                 .n = in,
                 .k = rows,
                 .a = dy,
                 .lda = out,
                 .b = x,
                 .ldb = in,
                 .beta = beta,
                 .c = dw,
                 .ldc = in});
  }
};

}  // namespace qkv
