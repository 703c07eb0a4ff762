// Attention pictures: the colour of every cell, what is masked, labels, sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <sstream>
#include <string>

#include "plot/theme.h"
#include "tests/plot/attention_case.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One matrix read back from a picture: the colour of each cell, "" where
// nothing is drawn, "NaN" for a cross.
struct Matrix {
  double x, y, scale;
  std::map<std::pair<int, int>, std::string> colours;
  std::string at(int row, int column) const {
    const auto found = colours.find({row, column});
    return found == colours.end() ? "" : found->second;
  }
};

std::vector<Matrix> matrices(const std::vector<Element>& picture) {
  std::vector<Matrix> found;
  std::map<int, std::size_t> of_group;
  for (std::size_t i = 0; i < picture.size(); ++i) {
    const Element& element = picture[i];
    if (element.name == "g") {
      Matrix matrix{};
      EXPECT_EQ(std::sscanf(element.attributes.at("transform").c_str(),
                            "translate(%lf %lf) scale(%lf)", &matrix.x,
                            &matrix.y, &matrix.scale),
                3);
      of_group[static_cast<int>(i)] = found.size();
      found.push_back(matrix);
    }
    if (element.name != "path" || !of_group.contains(element.parent)) continue;
    Matrix& matrix = found[of_group[element.parent]];
    const bool filled = element.attributes.at("fill") != "none";
    std::istringstream areas(element.attributes.at("d"));
    for (std::string area; std::getline(areas, area, 'M');) {
      if (area.empty()) continue;
      double column = 0, row = 0;
      int width = 1;
      EXPECT_GE(std::sscanf(area.c_str(), filled ? "%lf %lfh%dv1h" : "%lf %lf",
                            &column, &row, &width),
                filled ? 3 : 2);
      for (int i = 0; i < width; ++i) {
        const bool fresh =
            matrix.colours
                .emplace(std::pair(static_cast<int>(row),
                                   static_cast<int>(column) + i),
                         filled ? element.attributes.at("fill") : "NaN")
                .second;
        EXPECT_TRUE(fresh) << "a cell drawn twice";
      }
    }
  }
  return found;
}

std::string weight_colour(float weight) {
  return hex(sequential(
      Ground::light)[static_cast<int>(255 * std::sqrt(weight) + 0.5)]);
}

TEST(AttentionHead, EveryCellHasItsColour) {
  const Attention attention = random_attention(2, 3, 20, 20, true);
  const auto drawn = matrices(checked_svg(attention_head(attention, 1, 2)));
  ASSERT_EQ(drawn.size(), 1u);
  for (int q = 0; q < 20; ++q)
    for (int k = 0; k < 20; ++k) {
      const float weight = attention.values[((1 * 3 + 2) * 20 + q) * 20 + k];
      EXPECT_EQ(drawn[0].at(q, k), k > q ? "" : weight_colour(weight))
          << q << "," << k;
    }
}

TEST(AttentionHead, CausalMaskIsAlignedAtTheEnd) {
  const Attention attention = random_attention(1, 1, 3, 7, true);
  const auto drawn = matrices(checked_svg(attention_head(attention, 0, 0)));
  for (int q = 0; q < 3; ++q)
    for (int k = 0; k < 7; ++k)
      EXPECT_EQ(drawn[0].at(q, k).empty(), k > q + 4) << q << "," << k;
}

TEST(AttentionHead, HiddenIsNothingZeroIsTintNanIsACross) {
  Attention attention;
  attention.queries = 1;
  attention.keys = 4;
  attention.values = {0, kHidden, kNan, 1};
  const auto picture = checked_svg(attention_head(attention, 0, 0));
  const Matrix drawn = matrices(picture)[0];
  EXPECT_EQ(drawn.at(0, 0), "#e6eff4");
  EXPECT_EQ(drawn.at(0, 1), "");
  EXPECT_EQ(drawn.at(0, 2), "NaN");
  EXPECT_EQ(drawn.at(0, 3), "#002155");
  EXPECT_TRUE(text_element(picture, "NaN"));
  EXPECT_TRUE(text_element(picture, "masked"));
}

TEST(AttentionHead, PrintsNumbersInTheirCells) {
  Attention attention = random_attention(1, 1, 2, 2, false);
  attention.values = {0.25f, 0.75f, 1, 0};
  const auto picture = checked_svg(attention_head(attention, 0, 0));
  const Matrix drawn = matrices(picture)[0];
  const struct {
    const char* number;
    int row, column;
  } wanted[] = {{".25", 0, 0}, {".75", 0, 1}, {"1", 1, 0}, {"0", 1, 1}};
  for (const auto& [number, row, column] : wanted) {
    const double x = drawn.x + (column + 0.5) * drawn.scale;
    const double y = drawn.y + (row + 0.5) * drawn.scale;
    bool found = false;
    for (const Element& element : picture)
      found = found || (element.name == "text" && element.text == number &&
                        std::abs(element.number("x") - x) < 0.1 &&
                        std::abs(element.number("y") - y) < 3);
    EXPECT_TRUE(found) << number;
  }
}

TEST(AttentionHead, TokensStandAlongBothSides) {
  Attention attention = random_attention(1, 1, 3, 4, false);
  attention.query_tokens = tokens_of("xyz");
  attention.key_tokens = tokens_of("abcd");
  const auto picture = checked_svg(attention_head(attention, 0, 0));
  const Matrix drawn = matrices(picture)[0];
  double last = 0;
  for (const char* token : {"x", "y", "z"}) {
    const Element* element = text_element(picture, token);
    ASSERT_TRUE(element);
    EXPECT_LT(element->number("x"), drawn.x);
    EXPECT_GT(element->number("y"), last);
    last = element->number("y");
  }
  last = 0;
  for (const char* token : {"a", "b", "c", "d"}) {
    const Element* element = text_element(picture, token);
    ASSERT_TRUE(element);
    EXPECT_GT(element->number("y"), drawn.y + 3 * drawn.scale);
    EXPECT_GT(element->number("x"), last);
    last = element->number("x");
  }
}

TEST(AttentionHead, TokensDisturbNothing) {
  Attention attention = random_attention(1, 1, 6, 6, true);
  attention.query_tokens = {{"</text><script>"}, {"\n"},   {"\xff"},
                            {"&amp;"},           {"שלום"}, {"eot", true}};
  const auto picture = checked_svg(attention_head(attention, 0, 0));
  for (const char* label :
       {"</text…ript>", "↵", "‹FF›", "&amp;", "שלום", "⟦eot⟧"})
    EXPECT_TRUE(text_element(picture, label)) << label;
  EXPECT_EQ(text_element(picture, "שלום")->attributes.at("unicode-bidi"),
            "isolate");
}

TEST(AttentionHead, ScoresAreColouredBelowTheirRowsLargest) {
  Attention attention;
  attention.queries = 2;
  attention.keys = 3;
  attention.quantity = Quantity::scores;
  attention.values = {10, 6, -90, -3, -3, -5};
  const auto picture = checked_svg(attention_head(attention, 0, 0));
  const Matrix drawn = matrices(picture)[0];
  const auto& ramp = sequential(Ground::light);
  EXPECT_EQ(drawn.at(0, 0), hex(ramp[255]));
  EXPECT_EQ(drawn.at(0, 1), hex(ramp[128]));  // 4 of 8 below
  EXPECT_EQ(drawn.at(0, 2), hex(ramp[0]));
  EXPECT_EQ(drawn.at(1, 0), hex(ramp[255]));
  EXPECT_EQ(drawn.at(1, 2), hex(ramp[191]));
  EXPECT_TRUE(text_element(picture, "10.0"));
}

TEST(AttentionHead, LongTextsArePooledByTheLargest) {
  Attention attention = random_attention(1, 1, 512, 512, true);
  for (float& value : attention.values) value = 0;
  attention.values[301 * 512 + 200] = 1;
  const std::string svg = attention_head(attention, 0, 0).svg();
  const auto picture = checked_svg(svg);
  EXPECT_TRUE(some_text_contains(picture, "the largest of 2 × 2"));
  const Matrix drawn = matrices(picture)[0];
  EXPECT_EQ(drawn.at(150, 100), "#002155");
  EXPECT_EQ(drawn.at(150, 101), "#e6eff4");
  EXPECT_EQ(drawn.at(150, 151), "");
}

TEST(AttentionHead, LongTextsStaySmall) {
  EXPECT_LT(
      attention_head(random_attention(1, 1, 512, 512, true), 0, 0).svg().size(),
      600000u);
  EXPECT_LT(attention_grid(random_attention(4, 4, 256, 256, true)).svg().size(),
            1000000u);
}

TEST(AttentionGrid, LayersRunDownHeadsRunRight) {
  const Attention attention = random_attention(3, 4, 8, 8, true);
  const auto picture = checked_svg(attention_grid(attention));
  const auto drawn = matrices(picture);
  ASSERT_EQ(drawn.size(), 12u);
  for (int layer = 0; layer < 3; ++layer)
    for (int head = 0; head < 4; ++head) {
      const Matrix& one = drawn[layer * 4 + head];
      EXPECT_EQ(one.x, drawn[head].x);
      EXPECT_EQ(one.y, drawn[layer * 4].y);
      if (head > 0) {
        EXPECT_GT(one.x, drawn[layer * 4 + head - 1].x + 8 * one.scale);
      }
      if (layer > 0) {
        EXPECT_GT(one.y, drawn[(layer - 1) * 4].y + 8 * one.scale);
      }
      const float* values = &attention.values[(layer * 4 + head) * 64];
      for (int q = 0; q < 8; ++q)
        for (int k = 0; k <= q; ++k)
          EXPECT_EQ(one.at(q, k), weight_colour(values[q * 8 + k]));
    }
}

TEST(AttentionGrid, NumbersLayersAndHeadsAsAsked) {
  Attention attention = random_attention(1, 2, 8, 8, true);
  attention.first_layer = 5;
  attention.first_head = 3;
  const auto picture = checked_svg(attention_grid(attention));
  EXPECT_TRUE(text_element(picture, "layer 5"));
  EXPECT_TRUE(text_element(picture, "head 3"));
  EXPECT_TRUE(text_element(picture, "head 4"));
}

TEST(AttentionGrid, HoldsManyAndOddShapes) {
  for (const auto& [layers, heads, queries, keys] :
       {std::array{48, 25, 16, 16}, std::array{1, 1, 1, 1},
        std::array{2, 2, 1, 9}, std::array{2, 2, 9, 1},
        std::array{1, 3, 5, 300}, std::array{1, 3, 300, 5}}) {
    const Attention attention =
        random_attention(layers, heads, queries, keys, queries <= keys);
    const auto drawn = matrices(checked_svg(attention_grid(attention)));
    EXPECT_EQ(drawn.size(), static_cast<std::size_t>(layers * heads));
    checked_svg(attention_head(attention, layers - 1, heads - 1));
  }
}

TEST(Attention, DrawsNothingOfNothing) {
  const Attention attention;
  EXPECT_TRUE(
      text_element(checked_svg(attention_grid(attention)), "no tokens"));
  EXPECT_TRUE(
      text_element(checked_svg(attention_head(attention, 0, 0)), "no tokens"));
}

TEST(Attention, RefusesNumbersThatDoNotFit) {
  Attention attention = random_attention(2, 2, 3, 3, true);
  EXPECT_ERROR(input, "layer 2, head 0 of 2 x 2",
               attention_head(attention, 2, 0));
  attention.query_tokens = tokens_of("ab");
  EXPECT_ERROR(input, "2 query tokens", attention_grid(attention));
  attention.query_tokens.clear();
  attention.values.pop_back();
  EXPECT_ERROR(input, "35 values for 2 layers x 2 heads x 3 queries x 3 keys",
               attention_grid(attention));
  attention.heads = 0;
  EXPECT_ERROR(input, "0 heads", attention_head(attention, 0, 0));
}

}  // namespace
}  // namespace qkv::plot
