// Work that is bound by one thing alone: what a machine can do at most.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// f32 multiply-adds in registers, as many chains as the units need. Returns how
// many operations it did (a multiply-add is two); their sum goes to *sink, so
// that they happen.
double multiply_adds(std::int64_t rounds, float* sink);

// The sum of n floats, each read once.
float sum_of(const float* from, std::int64_t n);

}  // namespace qkv::kernels
