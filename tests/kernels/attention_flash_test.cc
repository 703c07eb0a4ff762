// The tiled attention kernel against the plain one in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "qkv/runtime.h"
#include "tests/kernels/attention_cases.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

constexpr int64_t kSizes[] = {1,  2,  3,  15, 16,  17,  31,
                              33, 63, 64, 65, 127, 129, 257};
constexpr int kSizeCount = 14;
constexpr int kMaskCount = 14;

// |a - b| <= tolerance · max(1, max |b|), NaN on either side fails.
::testing::AssertionResult near(const std::vector<float>& a,
                                const std::vector<double>& b,
                                double tolerance) {
  if (a.size() != b.size())
    return ::testing::AssertionFailure()
           << a.size() << " numbers instead of " << b.size();
  double largest = 1;
  for (double x : b) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= tolerance * largest))
      return ::testing::AssertionFailure()
             << "element " << i << " is " << a[i] << " instead of " << b[i];
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult same_bits(const std::vector<float>& a,
                                     const std::vector<float>& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << "sizes";
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<std::uint32_t>(a[i]) !=
        std::bit_cast<std::uint32_t>(b[i]))
      return ::testing::AssertionFailure()
             << "element " << i << ": " << a[i] << " and " << b[i];
  return ::testing::AssertionSuccess();
}

// Restores what a test changed for the whole process.
struct Restore {
  int threads = runtime::threads();
  std::string set = runtime::instruction_set();
  ~Restore() {
    runtime::set_threads(threads);
    runtime::set_instruction_set(set);
  }
};

void expect_flash_equals_reference(const AttentionCase& c) {
  SCOPED_TRACE(c.str());
  AttentionArrays<double> expected(c);
  expected.run_reference();
  AttentionArrays<float> got(c);
  got.run_flash();
  EXPECT_TRUE(near(got.out(), expected.out(), 2e-5)) << "out";
  EXPECT_TRUE(near(got.dq(), expected.dq(), 2e-5)) << "dq";
  EXPECT_TRUE(near(got.dk(), expected.dk(), 2e-5)) << "dk";
  EXPECT_TRUE(near(got.dv(), expected.dv(), 2e-5)) << "dv";
  if (c.weight_heads > 0) {
    EXPECT_TRUE(near(got.weights(), expected.weights(), 2e-6)) << "weights";
  }
}

class FlashAttention : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { runtime::set_instruction_set(GetParam()); }

 private:
  Restore restore_;
};

// Each pair of T and S, each pair of T and d, and each mask with many shapes.
TEST_P(FlashAttention, EqualsReference) {
  for (int i = 0; i < kSizeCount; ++i)
    for (int j = 0; j < kSizeCount; ++j) {
      const int n = i * kSizeCount + j;
      const AttentionCase c{
          .shape = {n % 2 + 1, n % 3 + 1, kSizes[i], kSizes[j],
                    kSizes[(3 * i + 5 * j + 1) % kSizeCount]},
          .mask = kAllMasks[(i + 3 * j) % kMaskCount],
          .layout = n % 5 < 3 ? Layout::packed : Layout::heads,
          .dropout = n % 4 == 0 ? 0.2 : 0,
          .weight_heads = n % 2};
      expect_flash_equals_reference(c);
      if (::testing::Test::HasFailure()) return;
    }
}

TEST_P(FlashAttention, EqualsReferenceWithEveryMask) {
  for (MaskKind mask : kAllMasks)
    for (const auto& [queries, keys] : {std::pair<int64_t, int64_t>{17, 17},
                                        {64, 64},
                                        {129, 129},
                                        {65, 200},
                                        {200, 65}})
      for (double dropout : {0.0, 0.2}) {
        expect_flash_equals_reference({.shape = {2, 2, queries, keys, 16},
                                       .mask = mask,
                                       .dropout = dropout,
                                       .weight_heads = 2});
        if (::testing::Test::HasFailure()) return;
      }
}

TEST_P(FlashAttention, ThreadsChangeNoBit) {
  // Some with few heads, whose keys are cut in parts, and long ones, whose
  // parts go in groups.
  for (const AttentionCase& c : {
           AttentionCase{.shape = {1, 1, 257, 257, 32},
          .mask = MaskKind::causal},
           AttentionCase{.shape = {2, 3, 200, 130, 16},
           .mask = MaskKind::everything,
           .dropout = 0.3,
           .weight_heads = 2},
           AttentionCase{.shape = {1, 20, 40, 2100, 8}},
           AttentionCase{.shape = {8, 9, 33, 33, 16}, .mask = MaskKind::causal},
       }) {
    SCOPED_TRACE(c.str());
    Restore restore;
    runtime::set_threads(1);
    AttentionArrays<float> one(c);
    one.run_flash();
    for (int threads : {2, 3, 5}) {
      runtime::set_threads(threads);
      AttentionArrays<float> many(c);
      many.run_flash();
      EXPECT_TRUE(same_bits(many.out(), one.out()));
      EXPECT_TRUE(same_bits(many.dq(), one.dq()));
      EXPECT_TRUE(same_bits(many.dk(), one.dk()));
      EXPECT_TRUE(same_bits(many.dv(), one.dv()));
      EXPECT_TRUE(same_bits(many.weights(), one.weights()));
    }
  }
}

TEST_P(FlashAttention, LongSequencesInGroups) {
  expect_flash_equals_reference(
      {.shape = {1, 20, 40, 2100, 8}, .mask = MaskKind::causal_alibi});
  expect_flash_equals_reference(
      {.shape = {1, 1, 1200, 1200, 8}, .mask = MaskKind::causal});
}

TEST_P(FlashAttention, WantingWeightsChangesNoBit) {
  for (MaskKind mask : kAllMasks) {
    AttentionCase c{.shape = {2, 3, 70, 81, 12}, .mask = mask, .dropout = 0.1};
    SCOPED_TRACE(c.str());
    AttentionArrays<float> without(c);
    without.run_flash();
    c.weight_heads = 2;
    AttentionArrays<float> with(c);
    with.run_flash();
    EXPECT_TRUE(same_bits(with.out(), without.out()));
  }
}

TEST_P(FlashAttention, ARowThatSeesNothingIsZero) {
  for (MaskKind mask : kAllMasks)
    for (const auto& [queries, keys] :
         {std::pair<int64_t, int64_t>{90, 30}, {30, 90}, {7, 7}, {5, 0}}) {
      const AttentionCase c{
          .shape = {2, 2, queries, keys, 17}, .mask = mask, .weight_heads = 2};
      SCOPED_TRACE(c.str());
      AttentionArrays<float> a(c);
      a.run_flash();
      const std::vector<float> weights = a.weights();
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t h = 0; h < 2; ++h) {
          std::vector<bool> seen(keys, false);
          for (int64_t i = 0; i < queries; ++i) {
            bool any = false;
            for (int64_t j = 0; j < keys; ++j)
              if (sees(c, b, h, i, j)) any = seen[j] = true;
            if (any) continue;
            for (int64_t k = 0; k < 17; ++k) {
              ASSERT_EQ(a.output.out.at(b, h, i)[k], 0) << i;
              ASSERT_EQ(a.gradients.dq.at(b, h, i)[k], 0) << i;
            }
            for (int64_t j = 0; j < keys; ++j)
              ASSERT_EQ(weights[((b * 2 + h) * queries + i) * keys + j], 0);
          }
          for (int64_t j = 0; j < keys; ++j)
            for (int64_t k = 0; k < 17 && !seen[j]; ++k) {
              ASSERT_EQ(a.gradients.dk.at(b, h, j)[k], 0) << j;
              ASSERT_EQ(a.gradients.dv.at(b, h, j)[k], 0) << j;
            }
        }
    }
}

// What a position holds reaches nobody from whom it is hidden, not even as NaN
// times 0; where it is visible, NaN shows.
TEST_P(FlashAttention, HiddenKeysAndValuesNeverReachARow) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (MaskKind mask : kAllMasks)
    for (int64_t at : {0, 20, 66}) {
      const AttentionCase c{
          .shape = {1, 1, 75, 67, 17}, .mask = mask, .weight_heads = 1};
      SCOPED_TRACE(c.str() + " key " + std::to_string(at));
      AttentionArrays<float> clean(c), dirty(c);
      for (int64_t k = 0; k < 17; ++k) {
        clean.mutable_row(clean.problem.k, 0, 0, at)[k] = 0;
        clean.mutable_row(clean.problem.v, 0, 0, at)[k] = 0;
        dirty.mutable_row(dirty.problem.k, 0, 0, at)[k] = nan;
        dirty.mutable_row(dirty.problem.v, 0, 0, at)[k] = nan;
      }
      clean.run_flash();
      dirty.run_flash();
      for (int64_t i = 0; i < 75; ++i)
        for (int64_t k = 0; k < 17; ++k) {
          const float out = dirty.output.out.at(0, 0, i)[k];
          const float dq = dirty.gradients.dq.at(0, 0, i)[k];
          if (sees(c, 0, 0, i, at)) {
            ASSERT_TRUE(std::isnan(out)) << i;
            ASSERT_TRUE(std::isnan(dq)) << i;
          } else {
            ASSERT_EQ(out, clean.output.out.at(0, 0, i)[k]) << i;
            ASSERT_EQ(dq, clean.gradients.dq.at(0, 0, i)[k]) << i;
          }
        }
    }
}

TEST_P(FlashAttention, AQueryNeverReachesTheGradientOfAHiddenKey) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (MaskKind mask : kAllMasks)
    for (int64_t at : {0, 20, 66}) {
      const AttentionCase c{.shape = {1, 1, 67, 75, 17}, .mask = mask};
      SCOPED_TRACE(c.str() + " query " + std::to_string(at));
      AttentionArrays<float> clean(c), dirty(c);
      for (int64_t k = 0; k < 17; ++k) {
        clean.mutable_row(clean.problem.q, 0, 0, at)[k] = 0;
        clean.mutable_row(clean.gradients.dout, 0, 0, at)[k] = 0;
        dirty.mutable_row(dirty.problem.q, 0, 0, at)[k] = nan;
        dirty.mutable_row(dirty.gradients.dout, 0, 0, at)[k] = nan;
      }
      clean.run_flash();
      dirty.run_flash();
      for (int64_t j = 0; j < 75; ++j)
        for (int64_t k = 0; k < 17; ++k) {
          const float dk = dirty.gradients.dk.at(0, 0, j)[k];
          const float dv = dirty.gradients.dv.at(0, 0, j)[k];
          if (sees(c, 0, 0, at, j)) {
            ASSERT_TRUE(std::isnan(dk) && std::isnan(dv)) << j;
          } else {
            ASSERT_EQ(dk, clean.gradients.dk.at(0, 0, j)[k]) << j;
            ASSERT_EQ(dv, clean.gradients.dv.at(0, 0, j)[k]) << j;
          }
        }
    }
}

TEST_P(FlashAttention, NanAndInfinityShowWhereVisible) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity()})
    for (int64_t keys : {1, 16, 70}) {
      const AttentionCase c{.shape = {1, 1, 3, keys, 4}};
      AttentionArrays<float> a(c);
      a.mutable_row(a.problem.v, 0, 0, keys - 1)[2] = bad;
      a.run_flash();
      for (int64_t i = 0; i < 3; ++i) {
        EXPECT_FALSE(std::isfinite(a.output.out.at(0, 0, i)[2]));
        EXPECT_TRUE(std::isfinite(a.output.out.at(0, 0, i)[1]));
      }
      std::uint32_t all_ones = 0xffffffff;  // NaN as poisoned memory holds it
      std::memcpy(a.mutable_row(a.problem.q, 0, 0, 1), &all_ones, 4);
      a.run_flash();
      EXPECT_TRUE(std::isnan(a.output.out.at(0, 0, 1)[0]));
      EXPECT_TRUE(std::isfinite(a.output.out.at(0, 0, 0)[0]));
    }
}

TEST_P(FlashAttention, LargeScores) {
  // softmax([800,1,1]) = [1,0,0]; softmax([-1e4,-1e4,-1e4]) is even.
  const AttentionCase c{.shape = {1, 1, 1, 3, 1}, .weight_heads = 1};
  AttentionArrays<float> a(c);
  a.problem.scale = 1;
  a.mutable_row(a.problem.q, 0, 0, 0)[0] = 1;
  const float keys[] = {800, 1, 1};
  for (int64_t j = 0; j < 3; ++j)
    a.mutable_row(a.problem.k, 0, 0, j)[0] = keys[j];
  a.run_flash();
  EXPECT_EQ(a.weights(), (std::vector<float>{1, 0, 0}));
  for (int64_t j = 0; j < 3; ++j)
    a.mutable_row(a.problem.k, 0, 0, j)[0] = -1e4f;
  a.run_flash();
  for (float w : a.weights()) EXPECT_NEAR(w, 1.0 / 3, 1e-7);
}

// d of one weight, over what the exponential can be asked: its own error is
// 1.7e-7, the two roundings beside it and 1/sum add as much again.
TEST_P(FlashAttention, ExponentialIsAccurate) {
  const AttentionCase c{.shape = {1, 1, 1, 2, 1}, .weight_heads = 1};
  AttentionArrays<float> a(c);
  a.problem.scale = 1;
  a.mutable_row(a.problem.k, 0, 0, 0)[0] = 0;
  a.mutable_row(a.problem.k, 0, 0, 1)[0] = -1;
  double worst = 0;
  for (float x = 1e-6f; x < 68; x = x * 1.001f + 1e-4f) {
    a.mutable_row(a.problem.q, 0, 0, 0)[0] = x;
    a.run_flash();
    // In units of log2(e), rounded once, as the kernel has it.
    const double score = static_cast<float>(x * 1.44269504f);
    const double e = std::exp2(-score);
    const double got = a.weights()[1];
    worst = std::max(worst, std::abs(got - e / (1 + e)) / (e / (1 + e)));
  }
  EXPECT_LT(worst, 5e-7);
  EXPECT_GT(worst, 1e-9);  // else nothing was measured
}

TEST_P(FlashAttention, NothingToDo) {
  for (const AttentionShape& shape :
       {AttentionShape{0, 2, 3, 4, 5}, AttentionShape{2, 0, 3, 4, 5},
        AttentionShape{2, 2, 0, 4, 5}, AttentionShape{2, 2, 3, 0, 5},
        AttentionShape{2, 2, 3, 4, 0}, AttentionShape{0, 0, 0, 0, 0}})
    for (MaskKind mask : {MaskKind::none, MaskKind::causal}) {
      const AttentionCase c{.shape = shape, .mask = mask};
      SCOPED_TRACE(c.str());
      AttentionArrays<float> a(c);
      a.run_flash();
      for (const auto& x : {a.out(), a.dq(), a.dk(), a.dv()})
        for (float value : x) EXPECT_EQ(value, 0);
    }
}

TEST_P(FlashAttention, GradientsNotWantedAreLeftOut) {
  const AttentionCase c{.shape = {1, 2, 70, 90, 16}, .mask = MaskKind::causal};
  AttentionArrays<float> all(c);
  all.run_flash();
  for (int left : {0, 1, 2}) {
    AttentionArrays<float> a(c);
    HeadRows<float>* parts[] = {&a.gradients.dq, &a.gradients.dk,
                                &a.gradients.dv};
    const HeadRows<float> kept = *parts[left];
    parts[left]->data = nullptr;
    a.run_flash();
    *parts[left] = kept;
    EXPECT_TRUE(left == 0 || same_bits(a.dq(), all.dq()));
    EXPECT_TRUE(left == 1 || same_bits(a.dk(), all.dk()));
    EXPECT_TRUE(left == 2 || same_bits(a.dv(), all.dv()));
  }
}

std::vector<std::string> sets() { return runtime::instruction_sets(); }

INSTANTIATE_TEST_SUITE_P(Sets, FlashAttention, ::testing::ValuesIn(sets()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace qkv::kernels
