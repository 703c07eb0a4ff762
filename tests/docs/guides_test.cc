// What docs/add-an-op.md and docs/add-a-model.md tell to write fits the tree
// and compiles. script/verify guides also builds and runs it.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/project/shell.h"

namespace qkv::docs {
namespace {

using project::kSource;
using project::Result;
using project::shell;
namespace fs = std::filesystem;

class Guide : public testing::TestWithParam<const char*> {
 protected:
  Guide() {
    for (const char* part : {"include", "src", "tests"})
      fs::copy(kSource / part, tree_ / part, fs::copy_options::recursive);
  }
  Result apply() const {
    return shell("'" + (kSource / "script/apply-guide").string() + "' '" +
                 (kSource / "docs" / GetParam()).string() + "' '" +
                 tree_.path() + "'");
  }

  test::TempFolder tree_;
};

TEST_P(Guide, FitsTheTreeAndCompiles) {
  const Result applied = apply();
  ASSERT_EQ(applied.status, 0) << applied.output;
  std::istringstream files(applied.output);
  int compiled = 0;
  for (std::string file; std::getline(files, file);) {
    if (!file.ends_with(".cc")) continue;
    ++compiled;
    const Result result =
        shell("cd '" + tree_.path() +
              "' && '" CXX_COMPILER
              "' -std=c++20 -Wall -Wextra -Werror -fsyntax-only "
              "-Wno-missing-field-initializers -I. -Isrc -Iinclude " +
              file);
    EXPECT_EQ(result.status, 0) << result.output;
  }
  EXPECT_GE(compiled, 2);
}

TEST_P(Guide, IsRefusedWhereItWasFollowedAlready) {
  ASSERT_EQ(apply().status, 0);
  const Result again = apply();
  EXPECT_NE(again.status, 0);
  EXPECT_NE(again.output.find("is there already"), std::string::npos)
      << again.output;
}

INSTANTIATE_TEST_SUITE_P(, Guide,
                         testing::Values("add-an-op.md", "add-a-model.md"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             if (c == '-' || c == '.') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace qkv::docs
