// What holds for every file of the project.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/project/shell.h"
#include "tests/support/pattern.h"

namespace qkv::project {
namespace {

// Complains of each line that matches, in the files that `wanted` chooses.
template <class Wanted>
void expect_no_line(const std::string& pattern, Wanted wanted) {
  int searched = 0;
  for (const fs::path& file : project_files()) {
    if (!wanted(file)) continue;
    ++searched;
    std::ifstream in(kSource / file);
    std::string line;
    for (int number = 1; std::getline(in, line); ++number)
      EXPECT_FALSE(line.size() < 1000 && test::found(line, pattern))
          << file.string() << ":" << number << ": " << line;
  }
  EXPECT_GT(searched, 0);
}

bool is_text(const fs::path& file) {
  static const std::string kText[] = {".cc", ".h",    ".md", ".txt", ".cmake",
                                      ".py", ".toml", ".js", ""};
  return std::find(std::begin(kText), std::end(kText),
                   file.extension().string()) != std::end(kText);
}

TEST(Tree, SourceFilesAreShort) {
  for (const fs::path& file : project_files()) {
    if (!is_source(file) && file.extension() != ".py") continue;
    const std::string text = read_bytes(kSource / file);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 800) << file;
  }
}

TEST(Tree, NothingIsLeftUnfinished) {
  expect_no_line(std::string("\\b(TO") + "DO|FIX" + "ME|XX" + "X|HA" + "CK)\\b",
                 is_text);
}

TEST(Tree, NoPathOfOneMachine) {
  expect_no_line(
      "(^|[^A-Za-z0-9_.}$])/(work|farm|root|home|mnt|tmp/[A-Za-z])"
      "(/|\\b)",
      [](const fs::path& file) {
        return is_text(file) && file.filename() != "tree_test.cc";
      });
}

TEST(Tree, LibraryNeitherPrintsNorExits) {
  expect_no_line(
      "(^|[^A-Za-z0-9_])(std::)?(f?printf|puts|abort|_?exit|terminate)\\(|"
      "std::(cout|cerr|clog)",
      [](const fs::path& file) {
        return is_source(file) && file.string().rfind("src/", 0) == 0;
      });
}

TEST(Tree, LargeFilesStayOut) {
  for (const fs::path& file : project_files())
    EXPECT_LE(fs::file_size(kSource / file), 1u << 20) << file;
}

}  // namespace
}  // namespace qkv::project
