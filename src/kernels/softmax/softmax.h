// Softmax over rows, and its logarithm.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// x, y (rows,n); y may be x. y = exp(x - max) / Σ exp(x - max). As in PyTorch a
// row of nothing but -inf, or with a NaN or +inf in it, gives NaN. n = 0:
// nothing.
template <class T>
void softmax(const T* x, std::int64_t rows, std::int64_t n, T* y);
// dx = y·(dy - Σ y·dy). dx may be dy.
template <class T>
void softmax_backward(const T* y, const T* dy, std::int64_t rows,
                      std::int64_t n, T* dx);

// y = x - max - ln Σ exp(x - max). y may be x.
template <class T>
void log_softmax(const T* x, std::int64_t rows, std::int64_t n, T* y);
// dx = dy - exp(y)·Σ dy. dx may be dy.
template <class T>
void log_softmax_backward(const T* y, const T* dy, std::int64_t rows,
                          std::int64_t n, T* dx);

}  // namespace qkv::kernels
