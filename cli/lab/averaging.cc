// Four ways to average the past, from a loop to attention: the GPT lecture's
// road, each equal to the one before.
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "cli/lab/experiment.h"
#include "cli/lab/numbers.h"
#include "qkv/attention.h"
#include "qkv/ops.h"
#include "qkv/rng.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kLength = 8, kWidth = 4;

Tensor by_loop(const Tensor& x) {
  Tensor mean = Tensor::zeros({kLength, kWidth});
  for (std::int64_t t = 0; t < kLength; ++t)
    for (std::int64_t s = 0; s <= t; ++s)
      for (std::int64_t c = 0; c < kWidth; ++c)
        mean.data<float>()[t * kWidth + c] +=
            x.data<float>()[s * kWidth + c] / static_cast<float>(t + 1);
  return mean;
}

// A matrix whose row t holds f(t, s) for s = 0 … T-1.
template <class F>
Tensor matrix(F f) {
  Tensor m = Tensor::empty({kLength, kLength});
  for (std::int64_t t = 0; t < kLength; ++t)
    for (std::int64_t s = 0; s < kLength; ++s)
      m.data<float>()[t * kLength + s] = static_cast<float>(f(t, s));
  return m;
}

Tensor by_matrix(const Tensor& x) {
  return matmul(matrix([](auto t, auto s) {
                  return s <= t ? 1.0 / static_cast<double>(t + 1) : 0.0;
                }),
                x);
}

Tensor by_softmax(const Tensor& x) {
  return matmul(softmax(matrix([](auto t, auto s) {
                  return s <= t ? 0.0
                                : -std::numeric_limits<double>::infinity();
                })),
                x);
}

Tensor by_attention(const Tensor& x) {
  const Shape shape{1, 1, kLength, kWidth};
  const Tensor alike = Tensor::zeros(shape);
  return reshape(
      attention(alike, alike, reshape(x, shape), {.mask = Mask::causal()})
          .output,
      {kLength, kWidth});
}

Report run(const Lab&) {
  TorchRng rng(1337);
  Tensor x = Tensor::empty({kLength, kWidth});
  rng.randn(x);
  const Tensor loop = by_loop(x);
  Table table;
  table.columns = {"the mean of all that came before",
                   "largest difference to the loop"};
  const auto add = [&](const char* name, const Tensor& mean) {
    table.rows.push_back(
        {name, fmt::format("{:.6f}", largest_difference(loop, mean))});
  };
  add("a loop over positions", loop);
  add("a matrix with rows 1/(t+1)", by_matrix(x));
  add("softmax of zeros, the future at -inf", by_softmax(x));
  add("attention whose scores are all 0", by_attention(x));
  plot::Attention weights;
  weights.title = "the weights of all four ways";
  weights.about = "qkv lab averaging: row t holds 1/(t+1) for what came before";
  weights.queries = weights.keys = kLength;
  weights.causal = true;
  for (std::int64_t t = 0; t < kLength; ++t)
    for (std::int64_t s = 0; s < kLength; ++s)
      weights.values.push_back(s <= t ? 1.0F / static_cast<float>(t + 1)
                                      : plot::kHidden);
  Report report;
  report.tables = {table};
  report.pictures = {{"", plot::attention_head(weights, 0, 0)}};
  report.see =
      "Averaging the past is a product with a triangular matrix; the matrix is "
      "a softmax of equal scores. Attention only lets the scores depend on "
      "what stands there.";
  return report;
}

const RegisterExperiment kAveraging({"averaging",
                                     "What does attention do that a mean does "
                                     "not?",
                                     run});

}  // namespace
}  // namespace qkv::cli::lab
