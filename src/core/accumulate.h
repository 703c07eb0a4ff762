// sum += value, the one arithmetic that the tape itself does.
#pragma once

#include "qkv/tensor.h"

namespace qkv {

// Both f32 or both f64, of one shape; sum is contiguous, value is read through
// its strides.
void accumulate(Tensor& sum, const Tensor& value);
// The same for the part of sum that begins at `from` along an axis and is as
// large as value.
void accumulate_part(Tensor& sum, int axis, std::int64_t from,
                     const Tensor& value);

}  // namespace qkv
