#include "kernels/peak/peak.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace qkv::kernels {
namespace {

TEST(Peak, SumsEveryNumberOnce) {
  for (const std::int64_t n : {0, 1, 63, 64, 65, 1003}) {
    std::vector<float> x(static_cast<std::size_t>(n));
    std::iota(x.begin(), x.end(), 1.0F);
    EXPECT_EQ(sum_of(x.data(), n), static_cast<float>(n * (n + 1) / 2)) << n;
  }
}

// Chains of s ← 0.999 s + 0.001 from 0, 0.01, … 0.11, one a lane alike.
TEST(Peak, DoesTheOperationsThatItCounts) {
  constexpr int kRounds = 1000, kChains = 12;
  double sum = 0;
  for (int chain = 0; chain < kChains; ++chain) {
    double s = 0.01 * chain;
    for (int i = 0; i < kRounds; ++i) s = 0.999 * s + 1e-3;
    sum += s;
  }
  float sink = 0;
  const double operations = multiply_adds(kRounds, &sink);
  const double lanes = operations / (2.0 * kChains * kRounds);
  EXPECT_TRUE(lanes == 8 || lanes == 16) << lanes;
  EXPECT_NEAR(sink, sum * lanes, 1e-4 * sum * lanes);
}

}  // namespace
}  // namespace qkv::kernels
