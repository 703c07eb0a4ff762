#include "core/json.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace qkv {
namespace {

TEST(ParseJson, BuildsTheValue) {
  const std::string text =
      R"({"a":[1,-2,2.5,true,null,"é\n"],"b":{"a":{}},"c":18446744073709551615})";
  EXPECT_EQ(parse_json(text, "x"), nlohmann::json::parse(text));
  EXPECT_EQ(parse_json("\xEF\xBB\xBF 1 ", "x"), nlohmann::json(1));
}

TEST(ParseJson, RefusesWhatTheParserWouldTake) {
  EXPECT_ERROR(input, "x.json: not valid JSON: 'a' appears twice",
               parse_json(R"({"a":1,"a":1})", "x.json"));
  EXPECT_ERROR(input, "'b' appears twice",
               parse_json(R"([{"a":{"b":1,"c":{},"b":2}}])", "x"));
  EXPECT_NO_THROW(parse_json(R"([{"a":1},{"a":1}])", "x"));
  EXPECT_ERROR(input, "at byte 2: NUL", parse_json({"{}\0x", 4}, "x"));
  const auto nested = [](int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(parse_json(nested(kMaxJsonDepth), "x"));
  EXPECT_ERROR(input, "nested deeper than 64",
               parse_json(nested(kMaxJsonDepth + 1), "x"));
  EXPECT_ERROR(input, "nested deeper", parse_json(std::string(1e6, '['), "x"));
}

TEST(ParseJson, NamesThePlaceOfAFault) {
  for (const char* bad : {"", "{", "{:", "[1,]", "nul", "NaN", "1 2", "'a'",
                          "\"\xff\"", "{\"a\":1} x", "[1e999999]"})
    EXPECT_ERROR(input, "x: not valid JSON at byte ", parse_json(bad, "x"));
}

}  // namespace
}  // namespace qkv
