#include "tests/support/compare.h"

#include <cmath>
#include <cstring>

namespace qkv::test {

::testing::AssertionResult near(const Tensor& a, const Tensor& reference,
                                double tolerance) {
  if (!a.defined() || !reference.defined())
    return ::testing::AssertionFailure() << "a tensor is undefined";
  if (a.shape() != reference.shape())
    return ::testing::AssertionFailure()
           << "shape " << a.shape().str() << " instead of "
           << reference.shape().str();
  const auto x = a.to(DType::f64).to_vector<double>();
  const auto y = reference.to(DType::f64).to_vector<double>();
  double largest = 1;
  for (double v : y) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x[i] - y[i]) <= tolerance * largest))
      return ::testing::AssertionFailure()
             << "element " << i << " of " << a.shape().str() << " is " << x[i]
             << " instead of " << y[i] << ", off by " << std::abs(x[i] - y[i])
             << ", allowed " << tolerance * largest;
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype())
    return ::testing::AssertionFailure()
           << a.shape().str() << " against " << b.shape().str();
  const Tensor x = a.clone(), y = b.clone();
  const auto* p = static_cast<const unsigned char*>(x.raw());
  const auto* q = static_cast<const unsigned char*>(y.raw());
  const std::size_t size = size_of(a.dtype());
  for (std::int64_t i = 0; i < a.numel(); ++i)
    if (std::memcmp(p + i * size, q + i * size, size) != 0)
      return ::testing::AssertionFailure() << "element " << i << " differs";
  return ::testing::AssertionSuccess();
}

}  // namespace qkv::test
