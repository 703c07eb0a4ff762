// Finding the first NaN or infinity.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// The index of the first element that is NaN or infinite, or -1.
template <class T>
std::int64_t first_nonfinite(const T* x, std::int64_t n);

}  // namespace qkv::kernels
