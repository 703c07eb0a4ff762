// Every operation of the library has at least one case.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/tape.h"
#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

TEST(Completeness, EveryRegisteredOpHasACase) {
  std::set<std::string> covered;
  for (const OpCase& c : op_cases()) covered.insert(c.op);
  for (std::string_view op : registered_ops())
    EXPECT_TRUE(covered.contains(std::string(op))) << op << " has no case";
}

TEST(Completeness, EveryCaseNamesARegisteredOp) {
  const auto names = registered_ops();
  const std::set<std::string_view> known(names.begin(), names.end());
  for (const OpCase& c : op_cases())
    EXPECT_TRUE(known.contains(c.op)) << c.op << " is not an op";
}

// Ops that the benchmark leaves out.
const std::map<std::string_view, const char*> kNotTimed = {
    {"reshape", "a view"},         {"slice", "a view"},
    {"transpose", "a view"},       {"concat", "copies as contiguous does"},
    {"mean", "walks as sum does"}, {"max", "walks as sum does"},
};

TEST(Completeness, EveryOpIsTimedOrNamedAsNotWorthIt) {
  std::set<std::string_view> timed;
  for (const OpCase& c : benchmark_cases()) {
    timed.insert(c.op);
    EXPECT_NE(c.flops > 0, c.bytes > 0) << c.op << " " << c.label;
    EXPECT_GE(c.with_backward, c.differentiable ? 1 : 0) << c.op;
  }
  const auto names = registered_ops();
  for (std::string_view op : names)
    EXPECT_NE(timed.contains(op), kNotTimed.contains(op)) << op;
  for (const auto& [op, why] : kNotTimed)
    EXPECT_NE(std::find(names.begin(), names.end(), op), names.end()) << op;
}

TEST(Completeness, NoOpIsRegisteredTwice) {
  const auto names = registered_ops();
  EXPECT_EQ(names.size(),
            std::set<std::string_view>(names.begin(), names.end()).size());
}

}  // namespace
}  // namespace qkv::test
