// What a linear layer is for other operations: its check, and its path for few
// rows.
#pragma once

#include <string_view>

#include "qkv/tensor.h"

namespace qkv {

// Throws, naming the operation: x (…,in), weight (out,in), bias (out) or
// undefined.
void check_linear(std::string_view op, const Tensor& x, const Tensor& weight,
                  const Tensor& bias);

// As linear(), each row computed on its own in a fixed order. Records nothing:
// throws when an input needs a gradient.
Tensor linear_by_rows(const Tensor& x, const Tensor& weight,
                      const Tensor& bias);

}  // namespace qkv
