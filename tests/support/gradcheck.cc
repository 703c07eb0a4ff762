#include "tests/support/gradcheck.h"

#include <cmath>

#include "qkv/autograd.h"
#include "qkv/rng.h"

namespace qkv::test {

::testing::AssertionResult gradients_match(
    const std::function<Tensor(const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& inputs, bool sparse) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) {
    leaves.push_back(x.clone());
    if (is_floating(x.dtype())) leaves.back().set_requires_grad();
  }
  Tensor out = f(leaves);
  TorchRng rng(1234);
  Tensor seed = Tensor::empty(out.shape(), DType::f64);
  rng.uniform(seed, 0.5, 1.5);
  backward_from(out, seed);

  const auto objective = [&] {
    NoGrad no_grad;
    const auto y = f(leaves).to_vector<double>();
    const auto s = seed.to_vector<double>();
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * s[i];
    return sum;
  };
  constexpr double kStep = 1e-6;
  std::int64_t numbers = 0;
  for (const Tensor& x : leaves) numbers += x.numel();
  const std::int64_t most = numbers > 10000 ? 30 : 200;
  std::int64_t compared = 0, zeros = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    Tensor& x = leaves[i];
    if (!is_floating(x.dtype()) || x.numel() == 0) continue;
    if (!x.grad())
      return ::testing::AssertionFailure()
             << "input " << i << " has no gradient";
    const auto gradient = x.grad().to_vector<double>();
    const std::int64_t stride = (x.numel() + most - 1) / most;
    for (std::int64_t j = 0; j < x.numel(); j += stride) {
      double& value = x.data<double>()[j];
      const double before = value;
      value = before + kStep;
      const double above = objective();
      value = before - kStep;
      const double below = objective();
      value = before;
      const double numeric = (above - below) / (2 * kStep);
      ++compared;
      zeros += gradient[j] == 0;
      if (!(std::abs(gradient[j] - numeric) <= 1e-5 + 1e-3 * std::abs(numeric)))
        return ::testing::AssertionFailure()
               << "input " << i << " element " << j << ": gradient "
               << gradient[j] << ", by differences " << numeric;
    }
  }
  if (!sparse && compared > 10 && zeros > compared * 9 / 10)
    return ::testing::AssertionFailure()
           << zeros << " of " << compared << " gradients are zero: no proof";
  return ::testing::AssertionSuccess();
}

}  // namespace qkv::test
