#include <gtest/gtest.h>

#include <set>

#include "qkv/rng.h"

namespace qkv {
namespace {

using Block = std::array<std::uint32_t, 4>;

// The known answers published with Random123 for philox4x32, ten rounds.
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t f = 0xffffffff;
  EXPECT_EQ(philox4x32({f, f, f, f}, {f, f}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // The digits of pi.
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// FNV-1a's own test vectors.
TEST(StreamId, IsFnv1a) {
  EXPECT_EQ(stream_id(""), 0xcbf29ce484222325u);
  EXPECT_EQ(stream_id("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(stream_id("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(stream_id("bar", stream_id("foo")), stream_id("foobar"));
}

TEST(StepRng, PlacesSeedStepStreamAndIndexAsDocumented) {
  const StepRng rng{.seed = 0x0123456789abcdef, .step = 0xa1a2a3a4b1b2b3b4};
  const std::uint64_t stream = 0xc1c2c3c4d1d2d3d4, index = 0xe1e2e3e4f1f2f3f4;
  EXPECT_EQ(
      rng.draw(stream, index),
      philox4x32({0xf1f2f3f4, 0xe1e2e3e4, 0xb1b2b3b4 ^ 0xc1c2c3c4, 0xd1d2d3d4},
                 {0x89abcdef, 0x01234567 ^ 0xa1a2a3a4}));
}

TEST(StepRng, UniformIsTheTop24BitsOfItsNumber) {
  const StepRng rng{.seed = 5, .step = 9};
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::uint32_t bits = rng.draw(3, i / 4)[i % 4];
    EXPECT_EQ(rng.uniform(3, i), static_cast<float>(bits >> 8) / 16777216.0f);
  }
}

TEST(StepRng, DiffersBySeedStepStreamAndIndex) {
  std::set<Block> seen;
  for (std::uint64_t seed : {0, 1})
    for (std::uint64_t step : {0, 1, 2})
      for (std::uint64_t stream : {stream_id("h.0"), stream_id("h.1")})
        for (std::uint64_t index : {0, 1})
          seen.insert(StepRng{seed, step}.draw(stream, index));
  EXPECT_EQ(seen.size(), 2u * 3 * 2 * 2);
}

TEST(StepRng, UniformsFillTheUnitIntervalEvenly) {
  const StepRng rng{.seed = 1337, .step = 1};
  const int n = 160000, bins = 16;
  int counts[bins] = {};
  for (int i = 0; i < n; ++i) {
    const float u = rng.uniform(stream_id("drop"), i);
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    ++counts[static_cast<int>(u * bins)];
  }
  double chi2 = 0;
  for (int count : counts) {
    const double d = count - n / bins;
    chi2 += d * d / (n / bins);
  }
  EXPECT_LT(chi2, 44.3);  // 15 degrees of freedom, p = 1e-4
}

}  // namespace
}  // namespace qkv
