// Dropout drawn from a counter: nothing is stored, backward draws it again.
#pragma once

#include <cstdint>

#include "qkv/rng.h"

namespace qkv::kernels {

// y[i] = 0 when rng.uniform(stream, first + i) < p, else x[i] / (1 - p), for i
// in [0, n). Backward is the same call on the gradient. y may be x. A part of a
// tensor is treated alone by giving the index of its first element.
template <class T>
void dropout(const T* x, std::int64_t n, double p, const StepRng& rng,
             std::uint64_t stream, std::int64_t first, T* y);

}  // namespace qkv::kernels
