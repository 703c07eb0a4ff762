#include "plot/token_label.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "plot/svg.h"
#include "tests/plot/xml.h"

namespace qkv::plot {
namespace {

using namespace std::string_literals;

std::string label(const std::string& bytes, int columns = 24) {
  return token_label({bytes}, columns);
}

TEST(TokenLabel, ShowsWhatHasNoShape) {
  EXPECT_EQ(label("mat"), "mat");
  EXPECT_EQ(label(" mat"), "·mat");
  EXPECT_EQ(label("   "), "···");
  EXPECT_EQ(label(std::string(12, ' ')), "·×12");
  EXPECT_EQ(label(std::string(12, ' ') + "x"), "·×12x");
  EXPECT_EQ(label("\n"), "↵");
  EXPECT_EQ(label("\r\n"), "␍↵");
  EXPECT_EQ(label("\t"), "→");
  EXPECT_EQ(label("\0"s), "␀");
  EXPECT_EQ(label("\x1b[31m"), "␛[31m");
  EXPECT_EQ(label("\x7f"), "␡");
  EXPECT_EQ(label("\u200b"), "⟨200B⟩");
  EXPECT_EQ(label("\u202e"), "⟨202E⟩");
  EXPECT_EQ(label("\u00a0"), "⟨A0⟩");
  EXPECT_EQ(label("\u0301"), "◌\u0301");
  EXPECT_EQ(label("e\u0301"), "e\u0301");
  EXPECT_EQ(label(""), "∅");
}

TEST(TokenLabel, ShowsBytesThatAreNoCharacter) {
  EXPECT_EQ(label("\xe2"), "‹E2›");
  EXPECT_EQ(label("\xe2\x96"), "‹E2›‹96›");
  EXPECT_EQ(label("\xe2\x96\x81"), "▁");
  EXPECT_EQ(label("a\xff"), "a‹FF›");
}

TEST(TokenLabel, MarksSpecialTokens) {
  EXPECT_EQ(token_label({"endoftext", true}, 24), "⟦endoftext⟧");
  EXPECT_NE(token_label({"endoftext", true}, 24), label("endoftext"));
}

TEST(TokenLabel, CutsTheMiddle) {
  EXPECT_EQ(label("transformers-and-more", 12), "transf…-more");
  EXPECT_EQ(label("transformers", 12), "transformers");
  EXPECT_EQ(label("日本語の文章です", 7), "日本…す");
  for (const char* text : {"abcdefghijkl", "日本語の文章です",
                           "\x01\x02\xff"
                           "abc\u200b\u200b"})
    for (int columns = 3; columns < 20; ++columns)
      EXPECT_LE(display_columns(label(text, columns)), columns) << text;
}

TEST(TokenLabel, EveryByteHasItsOwn) {
  std::set<std::string> labels;
  for (int byte = 0; byte < 256; ++byte)
    labels.insert(label(std::string(1, static_cast<char>(byte))));
  EXPECT_EQ(labels.size(), 256u);
}

TEST(TokenLabel, MeasuresColumns) {
  EXPECT_EQ(display_columns("abc"), 3);
  EXPECT_EQ(display_columns("日本"), 4);
  EXPECT_EQ(display_columns("e\u0301"), 1);
  EXPECT_TRUE(has_right_to_left("שלום"));
  EXPECT_TRUE(has_right_to_left("سلام"));
  EXPECT_FALSE(has_right_to_left("salut, 日本"));
}

TEST(Escape, LeavesWellFormedXml) {
  const std::string raw = "a<b>&\"'\n\x01\xff\xed\xa0\x80 é";
  const std::string escaped = escape(raw);
  const auto elements = parse_xml("<t>" + escaped + "</t>");
  EXPECT_EQ(elements[0].text, "a<b>&\"'\n\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD é");
  EXPECT_EQ(parse_xml("<t a=\"" + escaped + "\"/>")[0].attributes.at("a"),
            elements[0].text);
}

TEST(Coordinate, IsShort) {
  EXPECT_EQ(coordinate(12.5), "12.5");
  EXPECT_EQ(coordinate(3), "3");
  EXPECT_EQ(coordinate(-0.001), "0");
  EXPECT_EQ(coordinate(100), "100");
  EXPECT_EQ(coordinate(1.0 / 3), "0.33");
}

}  // namespace
}  // namespace qkv::plot
