// The sum of squares, for the global gradient norm.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// Σ x², each square and all sums in double, on the calling thread.
template <class T>
double sum_of_squares(const T* x, std::int64_t n);

}  // namespace qkv::kernels
