// Looking for what is no number.
#pragma once

#include <string>

#include "qkv/tensor.h"

namespace qkv {

// "element 12 is nan", or empty when all are finite.
std::string first_nonfinite(const Tensor& x);

}  // namespace qkv
