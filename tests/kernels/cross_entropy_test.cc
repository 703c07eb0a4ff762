#include "kernels/loss/cross_entropy.h"

#include <cmath>

#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

struct Expected {
  std::vector<double> losses, gradient;  // of each row's loss, unscaled
};

Expected expected(const std::vector<float>& x, int64_t n, int64_t stride,
                  const std::vector<int64_t>& targets) {
  Expected e;
  e.gradient.assign(x.size(), 0.0);
  for (std::size_t r = 0; r < targets.size(); ++r) {
    const float* row = x.data() + r * stride;
    if (targets[r] == -1) {
      e.losses.push_back(0);
      continue;
    }
    double max = row[0], sum = 0;
    for (int64_t i = 0; i < n; ++i) max = std::max<double>(max, row[i]);
    for (int64_t i = 0; i < n; ++i) sum += std::exp(row[i] - max);
    e.losses.push_back(max + std::log(sum) - row[targets[r]]);
    for (int64_t i = 0; i < n; ++i)
      e.gradient[r * stride + i] =
          std::exp(row[i] - max) / sum - (i == targets[r]);
  }
  return e;
}

TEST(CrossEntropy, LossesAndGradientsMatchTheDefinition) {
  on_each_set([] {
    for (int64_t n : kSizes)
      for (auto path : {runtime::Path::automatic, runtime::Path::reference}) {
        runtime::UsePath use(path);
        SCOPED_TRACE(n);
        const int64_t rows = 6, stride = n + 3;
        auto x = normals<float>(rows * stride, 1);
        for (float& v : x) v *= 5;
        const std::vector<int64_t> targets = {0, n - 1, -1, n / 2, 0, -1};
        const auto want = expected(x, n, stride, targets);
        const CrossEntropy<float> c{x.data(), rows,           n,
                                    stride,   targets.data(), -1};
        std::vector<float> losses(rows, kNaN), log_sum(rows), d(x.size(), 0);
        cross_entropy<float>(c, losses.data(), log_sum.data());
        EXPECT_TRUE(near(losses, want.losses, 1e-6));
        cross_entropy_backward<float>(c, log_sum.data(), nullptr, 0.25f,
                                      d.data());
        std::vector<double> scaled = want.gradient;
        for (double& v : scaled) v *= 0.25;
        EXPECT_TRUE(near(d, scaled, 1e-6));

        const std::vector<float> row_scale = {1, 2, 3, -1, 0, 5};
        cross_entropy_backward<float>(c, log_sum.data(), row_scale.data(), 9,
                                      d.data());
        for (int64_t i = 0; i < rows * stride; ++i)
          scaled[i] = want.gradient[i] * row_scale[i / stride];
        EXPECT_TRUE(near(d, scaled, 4e-6));

        // In place, with the same losses to the bit.
        auto in_place = x;
        CrossEntropy<float> same = c;
        same.logits = in_place.data();
        std::vector<float> again(rows, kNaN);
        cross_entropy_with_gradient<float>(same, 0.25f, again.data(),
                                           in_place.data());
        EXPECT_EQ(again, losses);
        for (int64_t i = 0; i < rows * stride; ++i) {
          const bool inside = i % stride < n;  // else between the rows
          EXPECT_NEAR(in_place[i], inside ? 0.25 * want.gradient[i] : x[i],
                      inside ? 1e-6 : 0);
        }
      }
  });
}

TEST(CrossEntropy, DoubleMatchesTheDefinition) {
  const auto x = normals<float>(4 * 10, 1);
  const std::vector<int64_t> targets = {3, -1, 9, 0};
  const auto want = expected(x, 10, 10, targets);
  std::vector<double> wide(x.begin(), x.end()), losses(4), log_sum(4), d(40);
  const CrossEntropy<double> c{wide.data(), 4, 10, 10, targets.data(), -1};
  cross_entropy<double>(c, losses.data(), log_sum.data());
  EXPECT_TRUE(near(losses, want.losses, 1e-14));
  cross_entropy_backward<double>(c, log_sum.data(), nullptr, 1, d.data());
  EXPECT_TRUE(near(d, want.gradient, 1e-14));
  cross_entropy_with_gradient<double>(c, 1, losses.data(), d.data());
  EXPECT_TRUE(near(losses, want.losses, 1e-14));
  EXPECT_TRUE(near(d, want.gradient, 1e-14));
}

TEST(CrossEntropy, LargeLogitsDoNotOverflowAndNaNIsSeen) {
  on_each_set([] {
    std::vector<float> x = {1000, -1000, 0, 1, 2, kNaN};
    const std::vector<int64_t> targets = {1, 0};
    std::vector<float> losses(2), d(6);
    cross_entropy_with_gradient<float>({x.data(), 2, 3, 3, targets.data(), -1},
                                       1, losses.data(), d.data());
    EXPECT_EQ(losses[0], 2000);
    EXPECT_EQ(d[0], 1);
    EXPECT_EQ(d[1], -1);
    EXPECT_TRUE(std::isnan(losses[1]));
    EXPECT_TRUE(std::isnan(d[3]));
  });
}

}  // namespace
}  // namespace qkv::kernels
