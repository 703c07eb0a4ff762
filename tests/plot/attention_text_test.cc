// Attention in the terminal: what each kind of terminal gets, and that no line
// is wider than it.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "plot/token_label.h"
#include "tests/plot/attention_case.h"
#include "tests/support/errors.h"
#include "tests/support/pattern.h"

namespace qkv::plot {
namespace {

constexpr Terminal kColour{.columns = 80, .colour = true, .unicode = true};
constexpr Terminal kShades{.columns = 80, .colour = false, .unicode = true};
constexpr Terminal kAscii{.columns = 80, .colour = false, .unicode = false};

std::string without_colour(const std::string& text) {
  return test::replaced(text, "\x1b\\[[0-9;]*m", "");
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

Attention word() {
  Attention attention;
  attention.queries = attention.keys = 3;
  attention.causal = true;
  attention.values = {1, 0, 0, 0.25f, 0.75f, 0, 0.1f, 0, 0.9f};
  attention.query_tokens = tokens_of("abc");
  return attention;
}

TEST(AttentionText, HeadInAscii) {
  EXPECT_EQ(attention_head_text(word(), 0, 0, kAscii),
            "layer 0, head 0: a row shows what its token looks at, in %\n"
            "    a   b   c\n"
            "a @100\n"
            "b + 25% 75\n"
            "c = 10.  0@ 90\n"
            ".. 0  :: .01  == .1  ++ .25  ## .5  @@ 1  blank: masked\n");
}

TEST(AttentionText, HeadInShades) {
  EXPECT_EQ(attention_head_text(word(), 0, 0, kShades),
            "layer 0, head 0: a row shows what its token looks at, in %\n"
            "    a   b   c\n"
            "a █100\n"
            "b ▒ 25▓ 75\n"
            "c ░ 10·  0█ 90\n"
            "·· 0  ·· .01  ░░ .1  ▒▒ .25  ▓▓ .5  ██ 1  blank: masked\n");
}

TEST(AttentionText, HeadInColour) {
  const std::string text = attention_head_text(word(), 0, 0, kColour);
  EXPECT_EQ(lines(without_colour(text))[3], "b  25  75 ");
  // The largest weight is nearly white on a dark ground, dark on a light one.
  EXPECT_NE(text.find("\x1b[38;5;16;48;5;195m100 \x1b[0m"), std::string::npos);
  Terminal light = kColour;
  light.dark = false;
  EXPECT_NE(attention_head_text(word(), 0, 0, light)
                .find("\x1b[38;5;231;48;5;17m100 \x1b[0m"),
            std::string::npos);
}

TEST(AttentionText, GridInAscii) {
  Attention attention = word();
  attention.heads = 2;
  attention.first_layer = 4;
  const std::vector<float> once = attention.values;
  attention.values.insert(attention.values.end(), once.begin(), once.end());
  EXPECT_EQ(attention_grid_text(attention, kAscii),
            "layer.head; a row shows what its token looks at\n"
            "  4.0     4.1\n"
            "  a b c   a b c\n"
            "a @@      @@\n"
            "b ++%%    ++%%\n"
            "c ==..@@  ==..@@\n"
            ".. 0  :: .01  == .1  ++ .25  ## .5  @@ 1  blank: masked\n");
}

TEST(AttentionText, NarrowGridInColourPutsTwoRowsInALine) {
  Attention attention = random_attention(1, 4, 10, 10, true);
  attention.query_tokens = tokens_of(".attention");
  const std::string text = attention_grid_text(attention, kColour);
  EXPECT_NE(text.find("two rows of a picture to a line"), std::string::npos);
  EXPECT_EQ(lines(text).size(), 3u + 5 + 2);
  // Row 0 sees key 0 only, row 1 also key 1: an upper and a lower half.
  EXPECT_EQ(lines(without_colour(text))[3].substr(0, 9), ". ▀▄ ");
}

TEST(AttentionText, ScoresAreNumbers) {
  Attention attention = word();
  attention.quantity = Quantity::scores;
  attention.values = {-30.46f, 0, 0, 1.5f, 3, 0, -2, 0.5f, 0};
  const std::string text = attention_head_text(attention, 0, 0, kShades);
  EXPECT_NE(text.find("−30.5"), std::string::npos);
  EXPECT_NE(text.find("≤ −8"), std::string::npos);
  const std::string ascii = attention_head_text(attention, 0, 0, kAscii);
  EXPECT_NE(ascii.find("-30.5"), std::string::npos);
  EXPECT_NE(ascii.find("<= -8"), std::string::npos);
}

TEST(AttentionText, NoLineIsWiderThanTheTerminal) {
  Attention words = random_attention(2, 3, 8, 8, true);
  words.query_tokens = {{" The"},     {" 日本語"}, {"\n"},
                        {"\xff\xfe"}, {" שלום"},   {"transformers-and-more"},
                        {"."},        {""}};
  const Attention shapes[] = {words, random_attention(1, 2, 1, 1, true),
                              random_attention(2, 12, 64, 64, true),
                              random_attention(1, 1, 300, 300, true),
                              random_attention(1, 2, 3, 200, false)};
  for (const Attention& attention : shapes)
    for (Terminal terminal : {kColour, kShades, kAscii})
      for (const int columns : {20, 24, 33, 40, 79, 80, 200}) {
        terminal.columns = columns;
        for (const std::string& text :
             {attention_head_text(attention, 0, 0, terminal),
              attention_grid_text(attention, terminal)})
          for (const std::string& line : lines(without_colour(text)))
            EXPECT_LE(display_columns(line), columns) << line;
      }
}

TEST(AttentionText, PlainTerminalsGetPlainBytes) {
  Attention attention = random_attention(1, 2, 5, 5, true);
  attention.values[7] = std::numeric_limits<float>::quiet_NaN();
  attention.values[0] = 1;
  attention.causal = false;
  attention.query_tokens = {{" é"}, {"\n"}, {"\x1b"}, {"日"}, {"\u202e"}};
  for (const std::string& text : {attention_head_text(attention, 0, 0, kAscii),
                                  attention_grid_text(attention, kAscii)})
    for (const char c : text)
      EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
  for (const std::string& text : {attention_head_text(attention, 0, 0, kShades),
                                  attention_grid_text(attention, kShades)})
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(attention_head_text(attention, 0, 0, kAscii).find("NaN"),
            std::string::npos);
  EXPECT_NE(attention_grid_text(attention, kAscii).find("!!"),
            std::string::npos);
}

TEST(AttentionText, RightToLeftIsIsolated) {
  Attention attention = word();
  attention.query_tokens = {{"a"}, {"שלום"}, {"c"}};
  EXPECT_NE(
      attention_head_text(attention, 0, 0, kShades).find("\u2068שלום\u2069"),
      std::string::npos);
}

TEST(AttentionText, NothingAndWrongNumbers) {
  EXPECT_EQ(attention_grid_text(Attention{}, kAscii), "no tokens\n");
  EXPECT_EQ(attention_head_text(Attention{}, 0, 0, kAscii), "no tokens\n");
  EXPECT_ERROR(input, "layer 0, head 1",
               attention_head_text(word(), 0, 1, kAscii));
  Attention attention = word();
  attention.values.pop_back();
  EXPECT_ERROR(input, "8 values", attention_grid_text(attention, kAscii));
}

}  // namespace
}  // namespace qkv::plot
