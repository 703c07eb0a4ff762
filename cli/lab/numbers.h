// What several experiments ask of the numbers in a tensor.
#pragma once

#include <vector>

#include "qkv/tensor.h"

namespace qkv::cli::lab {

// max |a - b| over all elements, in f64. Of tensors with as many elements.
double largest_difference(const Tensor& a, const Tensor& b);

struct Spread {
  double mean = 0, deviation = 0;  // the deviation over n, not n - 1
};
Spread spread_of(const std::vector<float>& values);

}  // namespace qkv::cli::lab
