#include "core/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace qkv {
namespace {

TEST(Utf8, EveryCodePointGoesThereAndBack) {
  for (int c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, static_cast<char32_t>(c));
    std::size_t at = 0;
    ASSERT_EQ(decode_utf8(text, at), c);
    ASSERT_EQ(at, text.size());
    // Cut anywhere it is no UTF-8 any more.
    for (std::size_t n = 1; n < text.size(); ++n)
      ASSERT_EQ(invalid_utf8(std::string_view(text).substr(0, n)), 0u);
  }
}

TEST(Utf8, WhatIsNoneIsFound) {
  for (const char* bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFE", "\xFF", "\xC3(", "\xE2\x82(",
        "\xE2(\x82"}) {
    std::size_t at = 0;
    EXPECT_EQ(decode_utf8(bad, at), -1) << bad;
    EXPECT_EQ(at, 0u);
    for (const char* before : {"", "ascii", "more than eight", "é日🤗"})
      EXPECT_EQ(invalid_utf8(std::string(before) + bad + "x"),
                std::string_view(before).size());
  }
  EXPECT_EQ(invalid_utf8(""), std::string_view::npos);
  EXPECT_EQ(invalid_utf8("12345678é12345678"), std::string_view::npos);
}

TEST(Quote, IsOnePrintableLine) {
  EXPECT_EQ(quote("x.weight é"), "'x.weight é'");
  EXPECT_EQ(quote("a\nb\x7f\xff"), "'a\\x0ab\\x7f\\xff'");
  EXPECT_EQ(quote(std::string(100, 'x')), "'" + std::string(64, 'x') + "…'");
}

TEST(Grouped, SeparatesThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(10745088), "10,745,088");
}

}  // namespace
}  // namespace qkv
