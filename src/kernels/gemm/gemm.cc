#include "kernels/gemm/gemm.h"

#include <algorithm>

namespace qkv::kernels {
namespace {

using std::int64_t;

constexpr int64_t kTile = 64;  // C, op(B) tiles: 64·64 doubles = 32 KiB each

// Rows [row, row+rows) × columns [col, col+cols) of C, both counts <= kTile.
template <class T>
void reference_block(const Gemm<T>& g, int64_t row, int64_t rows, int64_t col,
                     int64_t cols) {
  T sum[kTile][kTile] = {};
  T b[kTile]
     [kTile];  // a tile of op(B), row-major: the inner loop is unit-stride
  for (int64_t k0 = 0; k0 < g.k; k0 += kTile) {
    const int64_t depth = std::min(kTile, g.k - k0);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < cols; ++j)
        b[k][j] = g.trans_b ? g.b[(col + j) * g.ldb + k0 + k]
                            : g.b[(k0 + k) * g.ldb + col + j];
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < depth; ++k) {
        const T a = g.trans_a ? g.a[(k0 + k) * g.lda + row + i]
                              : g.a[(row + i) * g.lda + k0 + k];
        for (int64_t j = 0; j < cols; ++j) sum[i][j] += a * b[k][j];
      }
  }
  for (int64_t i = 0; i < rows; ++i) {
    T* c = g.c + (row + i) * g.ldc + col;
    for (int64_t j = 0; j < cols; ++j) {
      T value = g.alpha * sum[i][j];
      if (g.beta != 0) value += g.beta * c[j];
      if (g.bias) value += g.bias[col + j];
      c[j] = value;
    }
  }
}

template <class T>
void reference(const Gemm<T>& g, const GemmEpilogue* epilogue) {
  const int64_t row_tiles = (g.m + kTile - 1) / kTile;
  const int64_t col_tiles = (g.n + kTile - 1) / kTile;
  const auto tile = [&](int64_t t) {
    const int64_t row = t / col_tiles * kTile, col = t % col_tiles * kTile;
    const int64_t rows = std::min(kTile, g.m - row);
    const int64_t cols = std::min(kTile, g.n - col);
    reference_block(g, row, rows, col, cols);
    if (epilogue) (*epilogue)(row, row + rows, col, col + cols);
  };
  parallel_for(row_tiles * col_tiles, tile);
}

}  // namespace

template <class T>
int64_t gemm_workspace(const Gemm<T>&) {
  return 0;
}

template <class T>
void gemm(const Gemm<T>& g, T*, const GemmEpilogue* epilogue) {
  reference(g, epilogue);
}

template <class T>
void gemm_batched(const Gemm<T>& g, int64_t batch, int64_t stride_a,
                  int64_t stride_b, int64_t stride_c) {
  parallel_for(batch, [&](int64_t i) {
    Gemm<T> item = g;
    item.a += i * stride_a;
    item.b += i * stride_b;
    item.c += i * stride_c;
    reference(item, nullptr);
  });
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
