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

// dx (rows,n) may be dy. dgamma, dbeta (n) are overwritten; each may be null.
// With h = (x - mean)·rstd and g = dy·gamma:
// dx = rstd·(g - mean(g) - h·mean(g·h)), dgamma = Σ dy·h, dbeta = Σ dy.
template <class T>
void layer_norm_backward(const T* x, const T* gamma, const T* mean,
                         const T* rstd, const T* dy, std::int64_t rows,
                         std::int64_t n, T* dx, T* dgamma, T* dbeta,
                         T* workspace);

}  // namespace qkv::kernels
