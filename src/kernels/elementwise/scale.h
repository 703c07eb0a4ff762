// Multiples and sums of whole arrays.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// y = factor·x; y may be x.
template <class T>
void scale(const T* x, T factor, std::int64_t n, T* y);

// y += factor·x (the product is rounded first, as in PyTorch).
template <class T>
void add_scaled(const T* x, T factor, std::int64_t n, T* y);

}  // namespace qkv::kernels
