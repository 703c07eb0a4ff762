#include <algorithm>
#include <cmath>

#include "tests/examples/example.h"

namespace qkv::project {
namespace {

TEST(TrainGptExample, IsShort) {
  const std::string text = read_bytes(kSource / "examples/train_gpt.cc");
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 60);
}

TEST(TrainGptExample, LearnsAndMakesUpEightTexts) {
  const auto lines = run_example("train_gpt", "80");
  ASSERT_EQ(lines.size(), 2u + 5u + 8u);
  const bool words = lines[0].starts_with("English words");
  EXPECT_TRUE(words || lines[0].starts_with("task sort")) << lines[0];
  const auto first = numbers_in(lines[2]), last = numbers_in(lines[6]);
  ASSERT_EQ(first.size(), 3u) << lines[2];  // step, train, validation
  ASSERT_EQ(last.size(), 3u) << lines[6];
  EXPECT_EQ(last[0], 80);
  EXPECT_NEAR(first[2], std::log(words ? 27 : 5), 0.2);
  EXPECT_LT(last[2], first[2] - 0.5);
  for (std::size_t i = 7; i < lines.size(); ++i) {
    const std::string verdict = lines[i].substr(lines[i].find("  "));
    EXPECT_NE(verdict.find(words ? "n" : "r"), std::string::npos) << lines[i];
  }
}

TEST(EmbedBlockExample, LearnsTheRunningMaximum) {
  const auto lines = run_example("embed_block");
  ASSERT_EQ(lines.size(), 7u + 1u + 16u);
  EXPECT_GT(numbers_in(lines[0]).at(1), 0.05) << lines[0];
  EXPECT_LT(numbers_in(lines[6]).at(1), 0.001) << lines[6];
  double largest = 0;
  for (std::size_t i = 8; i < lines.size(); ++i) {
    const auto row = numbers_in(lines[i]);  // number, so far, said
    ASSERT_EQ(row.size(), 3u) << lines[i];
    largest = std::max(largest, row[0]);
    EXPECT_EQ(row[1], largest) << lines[i];
    EXPECT_NEAR(row[2], largest, 0.1) << lines[i];
  }
}

TEST(InferenceThreadsExample, ThreadsSayWhatOneAloneSays) {
  const auto lines = run_example("inference_threads", "3");
  ASSERT_EQ(lines.size(), 2u);
  const auto numbers = numbers_in(lines[1]);  // threads, questions, right, same
  ASSERT_EQ(numbers.size(), 4u) << lines[1];
  EXPECT_EQ(numbers[0], 3);
  EXPECT_GE(numbers[2], 30) << lines[1];
  EXPECT_EQ(numbers[3], numbers[1]) << lines[1];
}

}  // namespace
}  // namespace qkv::project
