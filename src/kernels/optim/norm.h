// The sum of squares, for the global gradient norm.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// Doubles of workspace that sum_of_squares wants.
std::int64_t sum_of_squares_workspace(std::int64_t n);

// Σ x², each square and all sums in double, by fixed chunks added in order.
template <class T>
double sum_of_squares(const T* x, std::int64_t n, double* workspace);

}  // namespace qkv::kernels
