#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/cli/lab_tables.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

namespace qkv::test {
namespace {

using nlohmann::json;

// The rows of its first table.
json rows_of(const std::string& name) {
  return tables_of({name, "--quick"})[0]["rows"];
}

TEST(Lab, ScoresSpreadAsTheRootOfTheWidth) {
  const json rows = rows_of("scaling");
  ASSERT_EQ(rows.size(), 5u);
  double entropy = 10;
  for (const json& row : rows) {
    const auto at = [&](int i) { return number(row[i]); };
    EXPECT_NEAR(at(1) / std::sqrt(at(0)), 1, 0.1) << row;
    EXPECT_NEAR(at(4), 1, 0.1) << row;
    EXPECT_LT(at(2), entropy) << "it falls with the width";
    entropy = at(2);
    // Of 64 keys under scores N(0,1): ln 64 - 1/2 nearly.
    EXPECT_NEAR(at(5), std::log(64.0) - 0.5, 0.1) << row;
  }
}

TEST(Lab, FourWaysToAverageAreOne) {
  for (const json& row : rows_of("averaging"))
    EXPECT_LE(number(row[1]), 1e-6) << row;
}

TEST(Lab, ListsDrawsAndRefuses) {
  TempFolder folder;
  const Ran list = run_qkv({"lab"});
  EXPECT_NE(list.out.find("scaling"), std::string::npos);
  EXPECT_EQ(run_qkv({"lab", "all", "--quick", "--out", folder / "o"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "o/scaling.svg"));
  const Ran refused = run_qkv({"lab", "scalling"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("did you mean 'scaling'?"), std::string::npos)
      << refused.err;
}

// What cannot be written is an error of whoever prints it, and a folder is made
// before the work is done.
TEST(Lab, OutputThatCannotBeWrittenIsNoSuccess) {
  for (const char* command :
       {"qkv lab averaging", "qkv lab averaging --json",
        "qkv bench makemore-bigram --seconds 0.01s --json --threads 1"}) {
    const Ran ran = run_shell(std::string(command) + " >/dev/full");
    EXPECT_EQ(ran.code, 3) << command << ran.err;
    EXPECT_NE(ran.err.find("No space left"), std::string::npos) << ran.err;
  }
  const Ran late = run_qkv({"lab", "micrograd", "--out", "/dev/full"});
  EXPECT_EQ(late.code, 3);
  EXPECT_EQ(late.out, "");
}

}  // namespace
}  // namespace qkv::test
