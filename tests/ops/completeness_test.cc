// Every operation of the library has at least one case.
#include <gtest/gtest.h>

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

TEST(Completeness, NoOpIsRegisteredTwice) {
  const auto names = registered_ops();
  EXPECT_EQ(names.size(),
            std::set<std::string_view>(names.begin(), names.end()).size());
}

}  // namespace
}  // namespace qkv::test
