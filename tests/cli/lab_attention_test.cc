// The experiments of `qkv lab` about what attention does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/cli/lab_tables.h"

namespace qkv::test {
namespace {

using nlohmann::json;

// The cell of the row and column that are named so.
double at(const json& table, const std::string& row,
          const std::string& column) {
  for (std::size_t c = 0; c < table["columns"].size(); ++c)
    for (const json& cells : table["rows"])
      if (table["columns"][c] == column && cells[0] == row)
        return number(cells[c]);
  ADD_FAILURE() << "no " << row << ", " << column << " in " << table;
  return NAN;
}

TEST(LabAttention, LooksAValueUpWhereFixedWeightsCannot) {
  const json table = tables_of({"dynamic"})[0];
  // Over all 8^6 ways to draw 6 of 8 values: the share of the most frequent
  // one and the entropy of the six.
  EXPECT_NEAR(at(table, "the values, not the keys", "right"), 36.32, 1);
  EXPECT_NEAR(at(table, "the values, not the keys", "loss"), 1.4003, 0.02);
  EXPECT_GT(at(table, "attention", "right"), 95);
  for (const char* fixed : {"MLP", "WaveNet"}) {
    EXPECT_GT(at(table, fixed, "right"), 20) << "it learned something";
    EXPECT_LT(at(table, fixed, "right"), 60) << fixed;
    EXPECT_GE(at(table, fixed, "parameters"),
              at(table, "attention", "parameters"))
        << "not for want of parameters";
  }
}

// Before training, so --quick tells the same.
TEST(LabAttention, TheGradientEndsWhereAModelsReachDoes) {
  const json tables = tables_of({"long-range", "--quick"});
  ASSERT_EQ(tables.size(), 3u);
  const json& gradient = tables[2];
  const auto reach = [&](int distance, const char* model) {
    return at(gradient, std::to_string(distance), model);
  };
  EXPECT_GT(reach(4, "MLP of 8"), 0.3);
  EXPECT_EQ(reach(8, "MLP of 8"), 0) << "it sees the last 8, itself included";
  EXPECT_GT(reach(8, "WaveNet of 16"), 0.3);
  EXPECT_EQ(reach(16, "WaveNet of 16"), 0);
  for (const char* recurrent : {"RNN", "GRU", "LSTM"}) {
    EXPECT_LT(reach(64, recurrent), 1e-9) << recurrent;
    // Multiplied at every token: twice as far is about the square.
    const double once = std::log(reach(16, recurrent)),
                 twice = std::log(reach(32, recurrent));
    EXPECT_NEAR(twice / once, 2, 0.3) << recurrent;
  }
  for (const int distance : {2, 4, 8, 16, 32, 64}) {
    EXPECT_GT(reach(distance, "attention"), 0.3) << distance;
    EXPECT_LT(reach(distance, "attention"), 5) << distance;
  }
}

TEST(LabAttention, ManyHeadsHoldApartWhatOneMixes) {
  const json table = tables_of({"heads"})[0];
  ASSERT_EQ(table["rows"].size(), 5u);
  // A mean of the four: which of them is which can hardly be told.
  EXPECT_LT(at(table, "1", "right, %"), 60);
  EXPECT_GT(at(table, "1", "right, %"), 20);
  for (const char* heads : {"4", "8", "16"}) {
    EXPECT_GT(at(table, heads, "right, %"), 95) << heads;
    EXPECT_EQ(at(table, heads, "parameters"), at(table, "1", "parameters"));
  }
}

TEST(LabAttention, ADecoderThatReversesLooksAtTheMirror) {
  const json table = tables_of({"cross"})[0];
  EXPECT_LT(at(table, "before training", "words right, %"), 1);
  EXPECT_NEAR(at(table, "before training", "weight on the mirrored letter"),
              1.0 / 8, 0.05);
  EXPECT_GT(at(table, "after", "words right, %"), 95);
  EXPECT_GT(at(table, "after", "weight on the mirrored letter"), 0.9);
  const json& after = table["rows"][1];
  std::string word = after[4];
  std::reverse(word.begin(), word.end());
  EXPECT_EQ(after[5], word);
}

TEST(LabAttention, ArithmeticOfATokenGrowsWithTheSequenceInOne) {
  const json table = tables_of({"parallel", "--quick"})[0];
  // 6 of each weight that multiplies: the RNN's (128 + 128)·128 and the head's
  // 128·64. Attention's (3 + 1)·128² and the head's, and 7·T·128.
  for (const int length : {16, 64, 256}) {
    const auto cell = [&](const std::string& column) {
      return at(table, std::to_string(length), column);
    };
    EXPECT_NEAR(cell("RNN: MFLOP/token"), 6 * (256 * 128 + 128 * 64) / 1e6,
                0.005);
    EXPECT_NEAR(cell("attention: MFLOP/token"),
                (6 * (4 * 128 * 128 + 128 * 64) + 7 * length * 128) / 1e6,
                0.005);
    for (const std::string model : {"RNN", "attention"})
      // Mega / micro / giga = 1000.
      EXPECT_NEAR(cell(model + ": GFLOP/s") * cell(model + ": µs/token") /
                      cell(model + ": MFLOP/token"),
                  1000, 50);
  }
}

TEST(LabAttention, AHeadLearnsByTheScaleOrNotAtAll) {
  const json trained = tables_of({"scaling"})[1];
  EXPECT_LT(at(trained, "as they are", "right, %"), 40);
  EXPECT_GT(at(trained, "divided by √d", "right, %"), 90);
}

}  // namespace
}  // namespace qkv::test
