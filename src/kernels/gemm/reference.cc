#include "kernels/gemm/reference.h"

#include <algorithm>

#include "kernels/cut.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

constexpr int64_t kTile = 64;  // C, op(B) tiles: 64·64 doubles = 32 KiB each

// Rows [row, row+rows) × columns [col, col+cols) of C, both counts <= kTile.
template <class T>
void block(const Gemm<T>& g, int64_t row, int64_t rows, int64_t col,
           int64_t cols) {
  T sum[kTile][kTile];
  T b[kTile]
     [kTile];  // a tile of op(B), row-major: the inner loop is unit-stride
  for (int64_t i = 0; i < rows; ++i) std::fill_n(sum[i], cols, T{0});
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

}  // namespace

template <class T>
void reference_gemm(const Gemm<T>& g) {
  const int64_t row_tiles = (g.m + kTile - 1) / kTile;
  const int64_t col_tiles = (g.n + kTile - 1) / kTile;
  const int64_t cost = std::min(g.m, kTile) * std::min(g.n, kTile) * (g.k + 1);
  for_rows(row_tiles * col_tiles, cost, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t row = t / col_tiles * kTile, col = t % col_tiles * kTile;
      block(g, row, std::min(kTile, g.m - row), col,
            std::min(kTile, g.n - col));
    }
  });
}

template void reference_gemm(const Gemm<float>&);
template void reference_gemm(const Gemm<double>&);

}  // namespace qkv::kernels
