// The path of a linear layer for few rows.
#pragma once

#include "qkv/tensor.h"

namespace qkv {

// As linear(), each row computed on its own in a fixed order. Records nothing:
// throws when an input needs a gradient.
Tensor linear_by_rows(const Tensor& x, const Tensor& weight,
                      const Tensor& bias);

}  // namespace qkv
