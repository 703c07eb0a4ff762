// Batch normalisation of the columns of a matrix (Ioffe & Szegedy 2015).
#pragma once

#include <cstdint>

namespace qkv::kernels {

// mean, squares (n): of each column of x (rows,n), its mean and Σ(x - mean)².
template <class T>
void column_moments(const T* x, std::int64_t rows, std::int64_t n, T* mean,
                    T* squares);

// y (rows,n) = (x - mean)·rstd·gamma + beta, by column. y may be x.
template <class T>
void batch_norm(const T* x, const T* mean, const T* rstd, const T* gamma,
                const T* beta, std::int64_t rows, std::int64_t n, T* y);

// With h = (x - mean)·rstd, and the variance taken as Σ(x - mean)²/divisor:
// dx = gamma·rstd·(dy - Σdy/rows - h·Σ(dy·h)/divisor), dgamma = Σ dy·h,
// dbeta = Σ dy. dx may be dy, and null when it is not wanted.
template <class T>
void batch_norm_backward(const T* x, const T* mean, const T* rstd,
                         const T* gamma, const T* dy, std::int64_t rows,
                         std::int64_t n, T divisor, T* dx, T* dgamma, T* dbeta);

}  // namespace qkv::kernels
