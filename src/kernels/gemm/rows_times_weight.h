// y = x Wᵀ + bias for few rows: generation, where the weight is read once and
// a general matrix product gains nothing.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// x (rows,in), weight (out,in), bias (out) or null, y (rows,out), all row-major
// without gaps. The order of each sum depends on `in` alone: a row's result is
// the same bits whatever the number of rows beside it.
template <class T>
void rows_times_weight(const T* x, std::int64_t rows, std::int64_t in,
                       const T* weight, std::int64_t out, const T* bias, T* y);

}  // namespace qkv::kernels
