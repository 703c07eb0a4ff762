#include <gtest/gtest.h>

#include <algorithm>
#include <map>
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

// As fast as it can be: three runs a line. No time decides anything here.
TEST(KernelsBench, MeasuresEveryCaseForwardAndBackward) {
  const Ran ran =
      run_shell("'" QKV_BINARY_DIR "/bin/kernels_bench' --json --seconds 0");
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  std::map<std::string, std::set<std::string>> passes;
  for (std::string text; std::getline(lines, text);) {
    const json line = json::parse(text);
    const auto name = line.at("op").get<std::string>() + " " +
                      line.at("case").get<std::string>();
    EXPECT_TRUE(passes[name].insert(line.at("pass")).second) << text;
    for (const char* number : {"ms", "ms_min", "percent_of_peak"}) {
      const double value = line.at(number);  // JSON holds finite numbers only
      EXPECT_GT(value, 0) << number << ": " << text;
    }
    const bool memory = line.at("bound") == "memory";
    EXPECT_GT(line.at(memory ? "gb_per_s" : "gflops"), 0) << text;
    EXPECT_EQ(line.at(memory ? "gflops" : "gb_per_s"), 0) << text;
  }
  EXPECT_GT(passes.size(), 30u);
  int twice = 0;
  for (const auto& [name, of] : passes) {
    EXPECT_TRUE(of.contains("forward")) << name;
    twice += of.contains("with backward");
  }
  EXPECT_GT(twice, 30);
}

TEST(KernelsBench, MeasuresWhatIsNamed) {
  const std::string program = "'" QKV_BINARY_DIR "/bin/kernels_bench'";
  const Ran one = run_shell(program + " scale --json --seconds 0");
  EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 2) << one.out;
  const Ran none = run_shell(program + " scales");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("scales"), std::string::npos) << none.err;
  EXPECT_EQ(run_shell(program + " --seconds soon").code, 2);
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
