#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "core/json.h"
#include "tests/support/program.h"

namespace qkv::test {
namespace {

using nlohmann::json;

TEST(Bench, AStepIsMeasuredByOperation) {
  const Ran ran = run_qkv({"bench", "makemore-bow", "softmax", "--json",
                           "--seconds", "0.05s", "--threads", "1"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const json step = json::parse(line);
  EXPECT_EQ(step["case"], "makemore-bow");
  EXPECT_EQ(step["threads"], 1);
  EXPECT_GE(step["runs"], 3);
  EXPECT_GT(step["ms_min"], 0);
  EXPECT_GE(step["ms"], step["ms_min"]);
  // 32 sequences of 16 tokens, the same time seen in two ways.
  EXPECT_NEAR(
      step["tokens_per_s"].get<double>() * step["ms"].get<double>() / 1e3, 512,
      1e-6);
  EXPECT_GT(step["percent_of_peak"], 0);
  EXPECT_LT(step["percent_of_peak"], 100);
  EXPECT_GT(step["peak_rss_mb"], 1);
  double sum = 0;
  for (const auto& [name, ms] : step["operations_ms"].items())
    sum += ms.get<double>();
  EXPECT_GT(sum, 0);
  EXPECT_TRUE(step["operations_ms"].contains("linear.backward"));

  ASSERT_TRUE(std::getline(lines, line));
  const json rows = json::parse(line);
  EXPECT_EQ(rows["bound"], "memory");
  EXPECT_EQ(rows["gflops"], 0);
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(Bench, ListsItsCasesEachOnce) {
  const Ran ran = run_qkv({"bench"});
  std::istringstream lines(ran.out);
  std::set<std::string> names;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    names.insert(line.substr(0, line.find(' ')));
  EXPECT_EQ(static_cast<int>(names.size()), count);
  for (const char* name : {"makemore", "nanogpt-cpu", "shakespeare-char",
                           "gpt2-b4-t64", "gpt2-b1-t1024", "adamw"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Bench, RefusesWhatThereIsNot) {
  const Ran ran = run_qkv({"bench", "makemor"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("did you mean 'makemore'?"), std::string::npos)
      << ran.err;
}

}  // namespace
}  // namespace qkv::test
