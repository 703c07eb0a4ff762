#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "qkv/generate.h"
#include "tests/support/errors.h"

namespace qkv::generate {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<double> probabilities(const SampleOptions& options,
                                  std::vector<float> logits) {
  return Sampler(options).probabilities(logits);
}

TEST(Sampler, TemperatureZeroTakesTheLowestOfEquals) {
  Sampler greedy({.temperature = 0});
  const std::vector<float> logits{1, 3, 3, -kInf};
  EXPECT_EQ(greedy.pick(logits, 0.999), 1);
  EXPECT_EQ(greedy.pick(logits, 0.0), 1);
}

TEST(Sampler, TemperatureOneIsSoftmax) {
  const auto p = probabilities({}, {0, 1, 2});
  const double sum = 1 + std::exp(1.0) + std::exp(2.0);
  EXPECT_NEAR(p[0], 1 / sum, 1e-12);
  EXPECT_NEAR(p[2], std::exp(2.0) / sum, 1e-12);
}

TEST(Sampler, ExtremeTemperaturesStayFinite) {
  for (const double t : {1e-30, 1e-3, 1e6}) {
    const auto p = probabilities({.temperature = t}, {1e30f, 5, -1e30f});
    double sum = 0;
    for (double x : p) {
      EXPECT_TRUE(std::isfinite(x));
      sum += x;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  // All equal, however small the temperature.
  for (double x : probabilities({.temperature = 1e-30}, {2, 2, 2, 2}))
    EXPECT_DOUBLE_EQ(x, 0.25);
}

TEST(Sampler, TopKKeepsAllThatTieWithTheLast) {
  const auto p = probabilities({.top_k = 2}, {0, 2, 1, 1, -1});
  EXPECT_EQ(p[0], 0);
  EXPECT_GT(p[1], p[2]);
  EXPECT_EQ(p[2], p[3]);
  EXPECT_EQ(p[4], 0);
  EXPECT_NEAR(p[1] + p[2] + p[3], 1, 1e-12);
}

TEST(Sampler, TopKOfAllOrNoneIsNoLimit) {
  for (const std::int64_t k : {0, 5, 6, 1000})
    for (double x : probabilities({.top_k = k}, {0, 1, 2, 3, 4}))
      EXPECT_GT(x, 0);
}

TEST(Sampler, TopPKeepsTheTokenThatCrossesIt) {
  // Probabilities 0.5, 0.3, 0.2.
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f),
                                  std::log(0.2f)};
  EXPECT_EQ(probabilities({.top_p = 0.4}, logits)[1], 0);
  const auto p = probabilities({.top_p = 0.6}, logits);
  EXPECT_NEAR(p[0], 0.625, 1e-6);
  EXPECT_NEAR(p[1], 0.375, 1e-6);
  EXPECT_EQ(p[2], 0);
  // However small p, one token stays.
  EXPECT_EQ(probabilities({.top_p = 1e-9}, logits)[0], 1);
}

TEST(Sampler, DrawsFollowTheProbabilities) {
  Sampler sampler({});
  const std::vector<float> logits{0, std::log(2.0f), std::log(5.0f)};
  const StepRng rng{.seed = 3};
  constexpr int kDraws = 100000;
  int counts[3] = {};
  for (int i = 0; i < kDraws; ++i)
    ++counts[sampler.pick(logits,
                          rng.uniform(1, static_cast<std::uint64_t>(i)))];
  double chi_squared = 0;
  const double expected[] = {kDraws / 8.0, kDraws / 4.0, kDraws * 5 / 8.0};
  for (int i = 0; i < 3; ++i)
    chi_squared += std::pow(counts[i] - expected[i], 2) / expected[i];
  EXPECT_LT(chi_squared, 18.4);  // p > 1e-4 at two degrees of freedom
}

TEST(Sampler, ATokenOfNoProbabilityIsNeverDrawn) {
  Sampler sampler({});
  const std::vector<float> logits{-kInf, 0, -kInf};
  for (const double u : {0.0, 0.5, 1 - 0x1p-24})
    EXPECT_EQ(sampler.pick(logits, u), 1);
}

TEST(Sampler, LogitsThatAreNoNumbersAreAnError) {
  Sampler sampler({}), greedy({.temperature = 0});
  for (Sampler* s : {&sampler, &greedy}) {
    EXPECT_ERROR(numeric, "token 1",
                 s->pick(std::vector<float>{0, kNan, 1}, 0.5));
    EXPECT_ERROR(numeric, "non-finite",
                 s->pick(std::vector<float>{0, kInf, 1}, 0.5));
    EXPECT_ERROR(numeric, "-inf",
                 s->pick(std::vector<float>{-kInf, -kInf}, 0.5));
  }
}

TEST(Sampler, OptionsOutOfRangeAreRefused) {
  EXPECT_ERROR(input, "temperature", Sampler({.temperature = -1}));
  EXPECT_ERROR(input, "temperature", Sampler({.temperature = kNan}));
  EXPECT_ERROR(input, "temperature", Sampler({.temperature = kInf}));
  EXPECT_ERROR(input, "top_k", Sampler({.top_k = -1}));
  EXPECT_ERROR(input, "top_p", Sampler({.top_p = 0}));
  EXPECT_ERROR(input, "top_p", Sampler({.top_p = 1.1}));
  EXPECT_ERROR(input, "top_p", Sampler({.top_p = kNan}));
}

}  // namespace
}  // namespace qkv::generate
