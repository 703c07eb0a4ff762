// The other direction of broadcasting.
#pragma once

#include "qkv/tensor.h"

namespace qkv {

// x summed over the axes along which shape was repeated to give x's shape.
Tensor reduce_to(const Tensor& x, const Shape& shape);

}  // namespace qkv
