#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "qkv/error.h"
#include "qkv/optim.h"

namespace qkv::optim {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> table(const Schedule& s, std::int64_t steps) {
  std::vector<double> rates;
  for (std::int64_t k = 0; k < steps; ++k) rates.push_back(s.at(k));
  return rates;
}
void expect_near(const std::vector<double>& got,
                 const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k)
    EXPECT_NEAR(got[k], want[k], 1e-15) << "step " << k;
}

TEST(Schedule, WarmUpLosesNoStepAndJoinsAtThePeak) {
  for (ScheduleKind kind :
       {ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine}) {
    const Schedule s{
        .kind = kind, .lr = 1, .warmup_steps = 4, .decay_steps = 12};
    expect_near(table(s, 5), {0.2, 0.4, 0.6, 0.8, 1.0});
  }
}

// min + (lr - min)/2·(1 + cos(π j/8)), j = k - 4, worked out by hand.
TEST(Schedule, CosineFollowsItsTable) {
  const Schedule s{.kind = ScheduleKind::cosine,
                   .lr = 1,
                   .min_lr = 0.1,
                   .warmup_steps = 4,
                   .decay_steps = 12};
  const double h = std::sqrt(0.5), c1 = std::sqrt((1 + h) / 2),
               c3 = std::sqrt((1 - h) / 2);
  auto at = [](double cosine) { return 0.1 + 0.45 * (1 + cosine); };
  expect_near(table(s, 15), {0.2, 0.4, 0.6, 0.8, 1.0, at(c1), at(h), at(c3),
                             at(0), at(-c3), at(-h), at(-c1), 0.1, 0.1, 0.1});
  EXPECT_EQ(s.at(12), 0.1);
  EXPECT_EQ(s.at(1'000'000'000'000), 0.1);
}

TEST(Schedule, LinearFollowsItsTable) {
  const Schedule s{.kind = ScheduleKind::linear,
                   .lr = 1,
                   .min_lr = 0.2,
                   .warmup_steps = 2,
                   .decay_steps = 6};
  expect_near(table(s, 9),
              {1.0 / 3, 2.0 / 3, 1.0, 0.8, 0.6, 0.4, 0.2, 0.2, 0.2});
}

TEST(Schedule, StepMultipliesNowAndThen) {
  // The lectures' rate: 0.1, from step 100,000 on 0.01.
  const Schedule s{.kind = ScheduleKind::step, .lr = 0.1, .step_every = 100000};
  EXPECT_EQ(s.at(0), 0.1);
  EXPECT_EQ(s.at(99999), 0.1);
  EXPECT_NEAR(s.at(100000), 0.01, 1e-17);
  EXPECT_NEAR(s.at(200000), 0.001, 1e-17);
}

TEST(Schedule, AWarmUpAsLongAsTheDecayDividesByNothing) {
  for (ScheduleKind kind : {ScheduleKind::linear, ScheduleKind::cosine}) {
    const Schedule s{.kind = kind,
                     .lr = 1,
                     .min_lr = 0.1,
                     .warmup_steps = 3,
                     .decay_steps = 3};
    expect_near(table(s, 5), {0.25, 0.5, 0.75, 0.1, 0.1});
  }
  EXPECT_EQ((Schedule{.kind = ScheduleKind::cosine}.at(0)), 0);
}

TEST(Schedule, ConstantStays) {
  const Schedule s{.lr = 5e-4};
  EXPECT_EQ(table(s, 3), (std::vector<double>{5e-4, 5e-4, 5e-4}));
}

TEST(Schedule, IsAFunctionOfTheStepAlone) {
  const Schedule s{.kind = ScheduleKind::cosine,
                   .lr = 1e-3,
                   .min_lr = 1e-4,
                   .warmup_steps = 100,
                   .decay_steps = 5000};
  const double late = s.at(3000);
  s.at(0);
  s.at(4999);
  EXPECT_EQ(s.at(3000), late);  // as at a resume there
}

TEST(Schedule, NeverJumpsUpAfterItsPeak) {
  for (std::int64_t warmup : {0, 1, 7, 98})
    for (ScheduleKind kind : {ScheduleKind::linear, ScheduleKind::cosine}) {
      const Schedule s{.kind = kind,
                       .lr = 1,
                       .min_lr = 0.1,
                       .warmup_steps = warmup,
                       .decay_steps = 99};
      for (std::int64_t k = 0; k < 120; ++k) {
        const double rate = s.at(k), next = s.at(k + 1);
        ASSERT_TRUE(std::isfinite(rate));
        ASSERT_GT(rate, 0);
        ASSERT_LE(rate, 1);
        if (k >= warmup) {
          ASSERT_LE(next, rate) << k;
        }
      }
    }
}

TEST(Schedule, RefusesWhatCannotBe) {
  auto refused = [](const Schedule& s, const std::string& word) {
    try {
      validate(s);
    } catch (const Error& error) {
      return std::string(error.what()).find(word) != std::string::npos;
    }
    return false;
  };
  constexpr auto kCosine = ScheduleKind::cosine;
  EXPECT_TRUE(refused({.lr = kNaN}, "nan"));
  EXPECT_TRUE(refused({.lr = -1}, "-1"));
  EXPECT_TRUE(refused({.lr = std::numeric_limits<double>::infinity()}, "inf"));
  EXPECT_TRUE(refused({.warmup_steps = -1}, "warmup_steps"));
  // A warm-up longer than the decay would jump to the peak.
  EXPECT_TRUE(refused({.kind = kCosine, .warmup_steps = 100, .decay_steps = 10},
                      "100"));
  EXPECT_TRUE(
      refused({.kind = kCosine, .min_lr = 1, .decay_steps = 10}, "min_lr"));
  EXPECT_TRUE(
      refused({.kind = kCosine, .min_lr = kNaN, .decay_steps = 10}, "min_lr"));
  EXPECT_TRUE(
      refused({.kind = ScheduleKind::step, .step_every = 0}, "step_every"));
  EXPECT_TRUE(
      refused({.kind = ScheduleKind::step, .step_every = 5, .step_factor = 0},
              "step_factor"));
  EXPECT_THROW((Schedule{.kind = ScheduleKind::step, .step_every = 0}.at(3)),
               Error);
  EXPECT_NO_THROW(validate({.lr = 0}));
}

}  // namespace
}  // namespace qkv::optim
