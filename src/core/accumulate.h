// sum += value, the one arithmetic that the tape itself does.
#pragma once

#include "qkv/tensor.h"

namespace qkv {

// Both f32 or both f64, of one shape; sum is contiguous, value is read through
// its strides.
void accumulate(Tensor& sum, const Tensor& value);

}  // namespace qkv
