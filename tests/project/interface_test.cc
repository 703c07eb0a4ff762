// The public headers, and what the shared library exports of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "qkv/version.h"
#include "tests/project/shell.h"
#include "tests/support/pattern.h"

namespace qkv::project {
namespace {

const fs::path kInclude = kSource / "include";

// As they are included: "qkv/nn/block.h".
std::vector<std::string> public_headers() {
  std::vector<std::string> headers;
  for (const auto& entry : fs::recursive_directory_iterator(kInclude))
    if (entry.is_regular_file())
      headers.push_back(fs::relative(entry.path(), kInclude).string());
  std::sort(headers.begin(), headers.end());
  return headers;
}

class PublicHeader : public testing::TestWithParam<std::string> {};

TEST_P(PublicHeader, IsShortAndBeginsByWhatItIsFor) {
  const std::string text = read_bytes(kInclude / GetParam());
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 200);
  EXPECT_TRUE(text.starts_with("// "));
  EXPECT_NE(text.find("\n#pragma once\n"), std::string::npos);
}

// With nothing included before it, and no folder but include/.
TEST_P(PublicHeader, StandsAlone) {
  const Result result =
      shell("echo '#include \"" + GetParam() +
            "\"' | '" CXX_COMPILER
            "' -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I '" +
            kInclude.string() + "' -x c++ -");
  EXPECT_EQ(result.status, 0) << result.output;
}

INSTANTIATE_TEST_SUITE_P(, PublicHeader, testing::ValuesIn(public_headers()),
                         [](const auto& info) {
                           std::string name = info.param.substr(4);
                           name.resize(name.size() - 2);
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

TEST(Interface, OneHeaderIncludesAllOthers) {
  const std::string text = read_bytes(kInclude / "qkv/qkv.h");
  for (const std::string& header : public_headers())
    if (header != "qkv/qkv.h" && header != "qkv/export.h") {
      EXPECT_NE(text.find("#include \"" + header + "\"\n"), std::string::npos)
          << header;
    }
}

TEST(Interface, VersionsAgree) {
  EXPECT_EQ(std::to_string(QKV_VERSION_MAJOR) + "." +
                std::to_string(QKV_VERSION_MINOR) + "." +
                std::to_string(QKV_VERSION_PATCH),
            kVersion);
}

// The names of what the shared library exports, without arguments:
// "qkv::Tensor::fill".
std::set<std::string> exported() {
  const Result nm = shell("nm -DC --defined-only '" +
                          std::string(QKV_BINARY_DIR) + "/lib/libqkv.so'");
  EXPECT_EQ(nm.status, 0) << nm.output;
  std::set<std::string> names;
  std::istringstream lines(nm.output);
  for (std::string line; std::getline(lines, line);) {
    std::string name = test::replaced(
        line, "^[0-9a-f]+ . (vtable for |typeinfo (name )?for )?", "");
    names.insert(name.substr(0, name.find_first_of("([")));
  }
  return names;
}

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  for (const auto& match : test::all_found(text, "\\w+"))
    words.insert(match[0]);
  return words;
}

TEST(Interface, NothingButPublicNamesIsExported) {
  std::string headers;
  for (const std::string& header : public_headers())
    headers += read_bytes(kInclude / header);
  headers = test::replaced(headers, "//[^\n]*", "");
  const std::set<std::string> declared = words_of(headers);
  const std::set<std::string> names = exported();
  EXPECT_GT(names.size(), 100u);
  for (const std::string& name : names) {
    EXPECT_TRUE(name.starts_with("qkv::")) << name;
    for (const std::string& word : words_of(name))
      EXPECT_TRUE(declared.contains(word))
          << name << ": no header has " << word;
  }
}

// A class or function that a header offers must be there to be linked.
TEST(Interface, EveryMarkedNameIsExported) {
  std::string names;
  for (const std::string& name : exported()) names += name + "::";
  const std::string marked =
      "(?:class|struct) QKV_API (\\w+)|QKV_API[^;{]*?(\\w+)\\(";
  int found = 0;
  for (const std::string& header : public_headers()) {
    if (header == "qkv/export.h") continue;
    const std::string text = read_bytes(kInclude / header);
    for (const auto& match : test::all_found(text, marked)) {
      ++found;
      const std::string& name = match[1].empty() ? match[2] : match[1];
      EXPECT_NE(names.find("::" + name + "::"), std::string::npos)
          << header << ": " << name;
    }
  }
  EXPECT_GT(found, 100);
}

}  // namespace
}  // namespace qkv::project
