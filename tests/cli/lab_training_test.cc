// The experiments on what makes a network trainable, with --quick: what holds
// from the start on, and that they run to their end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "qkv/data.h"
#include "tests/cli/lab_tables.h"
#include "tests/support/files.h"

namespace qkv::test {
namespace {

using nlohmann::json;

json quick_tables_of(const std::string& name, const std::string& out = "") {
  std::vector<std::string> arguments{name, "--quick"};
  if (!out.empty()) arguments.insert(arguments.end(), {"--out", out});
  return tables_of(arguments);
}

// The row that begins so, of a table that has one.
json row(const json& table, const std::string& name, std::size_t nth = 0) {
  for (const json& row : table["rows"])
    if (row[0] == name && nth-- == 0) return row;
  ADD_FAILURE() << name << " is in no row of " << table;
  return {};
}

TEST(LabInit, LossBeginsAtGuessingOnlyWhereItShould) {
  TempFolder folder;
  const json tables = quick_tables_of("init", folder / "o");
  ASSERT_EQ(tables.size(), 5u);
  const json& summary = tables[0]["rows"];
  ASSERT_EQ(summary.size(), 4u);
  const double guessing = number(summary[0][2]);
  EXPECT_GT(number(summary[0][1]), 3 * guessing);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_NEAR(number(summary[i][1]), guessing, 0.05) << summary[i];
  for (const char* picture :
       {"activations", "gradients", "weight-gradients", "saturation", "losses",
        "updates-careless", "updates-fitted", "updates-careless-normed",
        "updates-normed"})
    EXPECT_TRUE(std::filesystem::exists(folder / "o/init-" + picture + ".svg"))
        << picture;
}

TEST(LabInit, LayersAreAlikeOnlyWhereWeightsFit) {
  const json tables = quick_tables_of("init");
  const auto column = [&](std::size_t variant, std::size_t c) {
    std::vector<double> values;
    for (std::size_t layer = 0; layer < 5; ++layer)
      values.push_back(number(tables[1 + variant]["rows"][layer][c]));
    return values;
  };
  constexpr std::size_t kSaturated = 3, kGradient = 4;
  const auto careless = column(0, kSaturated);
  EXPECT_GT(*std::min_element(careless.begin(), careless.end()), 50);
  EXPECT_GT(column(0, kGradient)[0], 5 * column(0, kGradient)[4]);
  for (const std::size_t variant : {1, 2, 3}) {
    // The first layer's inputs are embeddings, which no one has scaled.
    const auto saturated = column(variant, kSaturated);
    EXPECT_LT(*std::max_element(saturated.begin() + 1, saturated.end()), 15)
        << variant;
    const auto gradient = column(variant, kGradient);
    EXPECT_LT(gradient[0], 3 * gradient[4]) << variant;
    EXPECT_GT(gradient[0], gradient[4] / 3) << variant;
  }
  // A norm undoes any factor of the weights before it.
  EXPECT_EQ(column(2, kSaturated), column(3, kSaturated));
  EXPECT_GT(number(tables[4]["rows"][1][6]),
            50 * number(tables[3]["rows"][1][6]))
      << "but not their size beside their gradients";
}

TEST(LabLrFind, TheRateItFindsIsTheBestOfThoseAround) {
  if (!std::filesystem::exists(data::kWordList))
    GTEST_SKIP() << "the task that stands in for words is learned at any rate";
  TempFolder folder;
  const json tables = quick_tables_of("lr-find", folder / "o");
  const json& grown = tables[0]["rows"];
  const auto lowest = std::min_element(
      grown.begin(), grown.end(),
      [](const json& a, const json& b) { return number(a[1]) < number(b[1]); });
  EXPECT_NE(lowest, grown.begin());
  EXPECT_NE(lowest, std::prev(grown.end()));
  const json& held = tables[1]["rows"];
  ASSERT_EQ(held.size(), 4u);
  EXPECT_EQ(held[2][1], (*lowest)[0]);
  for (const std::size_t other : {0, 1, 3})
    EXPECT_GT(number(held[other][2]), number(held[2][2])) << held;
  EXPECT_TRUE(std::filesystem::exists(folder / "o/lr-find.svg"));
}

TEST(LabResidual, GradientsReachTheFirstBlockOnlyBesideASum) {
  const json table = quick_tables_of("residual")[0];
  const auto gradient = [&](const char* name, std::size_t nth) {
    return number(row(table, name, nth)[2]);
  };
  constexpr std::size_t kShallow = 0, kDeep = 1;
  EXPECT_LT(gradient("no residual, no norm", kDeep),
            1e-6 * gradient("no residual, no norm", kShallow));
  for (const char* name :
       {"residual, no norm", "residual, norm after", "residual, norm before"})
    EXPECT_GT(gradient(name, kDeep), 0.3 * gradient(name, kShallow)) << name;
}

TEST(LabPositions, AttentionAloneSeesASet) {
  const json tables = quick_tables_of("positions");
  const auto right = [&](const char* name) {
    return number(row(tables[0], name)[3]);
  };
  EXPECT_LT(right("no positions"), 60);
  EXPECT_GT(right("position embedding"), right("no positions"));
  const auto moved = [&](const char* name, std::size_t nth = 0) {
    return number(row(tables[1], name, nth)[2]);
  };
  EXPECT_LT(moved("no positions", 0), 1e-6);
  EXPECT_LT(moved("no positions", 1), 1e-15);
  for (const char* name :
       {"position embedding", "ALiBi", "causal mask, no positions"})
    EXPECT_GT(moved(name), 1e-3) << name;
}

TEST(LabMasking, LookingAheadIsNotForetelling) {
  const json table = quick_tables_of("masking")[0];
  const json causal = row(table, "causal mask"), none = row(table, "no mask");
  EXPECT_EQ(causal[3], "0") << "exactly";
  EXPECT_GT(number(none[3]), 1e-3);
  EXPECT_EQ(causal[1], causal[2]) << "both see the past alone";
  EXPECT_GT(number(none[2]), number(none[1]) + 0.1);
}

}  // namespace
}  // namespace qkv::test
