#include "data/python_lines.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/support/files.h"

namespace qkv::data {
namespace {

TEST(PythonLines, AreThoseOfPython) {
  const std::string path = test::fixture("data/fixtures/python_lines.json");
  const auto cases = parse_json(test::read_bytes(path), path);
  ASSERT_EQ(cases.size(), 300u);
  for (const auto& c : cases) {
    const std::string text = c["text"];
    const PythonLines lines = python_lines(text);
    const std::vector<std::string> items(lines.items.begin(),
                                         lines.items.end());
    EXPECT_EQ(items, c["items"].get<std::vector<std::string>>()) << c["text"];
    EXPECT_EQ(lines.blank, c["blank"].get<std::int64_t>()) << c["text"];
    EXPECT_EQ(lines.carriage_returns, c["cr"].get<std::int64_t>());
  }
}

}  // namespace
}  // namespace qkv::data
