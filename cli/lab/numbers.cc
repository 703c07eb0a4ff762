#include "cli/lab/numbers.h"

#include <algorithm>
#include <cmath>

namespace qkv::cli::lab {

double largest_difference(const Tensor& a, const Tensor& b) {
  const auto x = a.to(DType::f64).to_vector<double>();
  const auto y = b.to(DType::f64).to_vector<double>();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

Spread spread_of(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (const float v : values) {
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  const auto n = static_cast<double>(values.size());
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(squares / n - mean * mean, 0.0))};
}

}  // namespace qkv::cli::lab
