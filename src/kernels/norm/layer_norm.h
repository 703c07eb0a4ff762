// Layer normalisation of rows: y = (x - mean)·rstd·gamma + beta,
// rstd = 1/√(variance + eps), variance = Σ(x - mean)²/n (Ba et al. 2016).
#pragma once

#include <cstdint>

namespace qkv::kernels {

// x, y (rows,n), y may be x; gamma, beta (n), each may be null (1, 0);
// mean, rstd (rows), each may be null when backward is not wanted.
template <class T>
void layer_norm(const T* x, const T* gamma, const T* beta, std::int64_t rows,
                std::int64_t n, double eps, T* y, T* mean, T* rstd);

// Elements of workspace that layer_norm_backward wants.
std::int64_t layer_norm_backward_workspace(std::int64_t rows, std::int64_t n);

template <class T>
struct LayerNormBackward {
  const T *x, *gamma, *mean, *rstd, *dy;
  std::int64_t rows, n;
  T* dx;         // (rows,n), may be dy
  T* workspace;  // the parts of dgamma and dbeta, a chunk of rows each
};

// dgamma, dbeta (n) are overwritten; each may be null.
// With h = (x - mean)·rstd and g = dy·gamma:
// dx = rstd·(g - mean(g) - h·mean(g·h)), dgamma = Σ dy·h, dbeta = Σ dy.
template <class T>
void layer_norm_backward(const LayerNormBackward<T>& p, T* dgamma, T* dbeta);

// Its two halves, for whoever has dy row by row: dx and the parts of some rows,
// begin a multiple of kRowChunk; then the sums over the parts, as they lie in
// the workspace.
template <class T>
void layer_norm_backward_rows(const LayerNormBackward<T>& p, std::int64_t begin,
                              std::int64_t end);
template <class T>
void layer_norm_backward_sums(const T* workspace, std::int64_t rows,
                              std::int64_t n, T* dgamma, T* dbeta);

}  // namespace qkv::kernels
