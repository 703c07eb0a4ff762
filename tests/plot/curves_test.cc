// Several curves in one picture: each told apart, named, in its place.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "plot/token_label.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

Curves falling(int series) {
  Curves curves;
  curves.title = "compared";
  for (int i = 0; i < series; ++i) {
    Series& one = curves.series.emplace_back();
    one.name = "run " + std::to_string(i);
    for (int step = 0; step <= 1000; step += 10)
      one.points.push_back(
          {static_cast<double>(step), 1 + i + std::exp(-step / 200.0)});
  }
  return curves;
}

TEST(Curves, DifferByColourAndDash) {
  const auto picture = checked_svg(draw_curves(falling(8)));
  std::set<std::pair<std::string, std::string>> looks;
  int lines = 0;
  for (const Element& element : picture)
    if (element.name == "path" && element.attributes.at("d").size() > 300) {
      ++lines;
      const auto dash = element.attributes.find("stroke-dasharray");
      looks.insert({element.attributes.at("stroke"),
                    dash == element.attributes.end() ? "" : dash->second});
    }
  EXPECT_EQ(lines, 8);
  EXPECT_EQ(looks.size(), 8u);
}

TEST(Curves, AreNamedAtTheirEndsInTheirOrder) {
  const auto picture = checked_svg(draw_curves(falling(3)));
  double last = 1e9;
  for (const char* name : {"run 0 1.0067", "run 1 2.0067", "run 2 3.0067"}) {
    const Element* label = text_element(picture, name);
    ASSERT_TRUE(label) << name;
    EXPECT_LT(label->number("y"), last) << "larger values stand higher";
    last = label->number("y");
  }
}

TEST(Curves, HoldOddNamesAndValues) {
  Curves curves = falling(2);
  curves.series[0].name = "</text>&\"\n\xff שלום";
  curves.series[0].points[3].y = NAN;
  curves.series[1].points.clear();
  curves.series.push_back({"one", {{5, 2}}});
  curves.log_x = true;
  checked_svg(draw_curves(curves));
  checked_svg(draw_curves(Curves{}));
  curves.series[0].points[0].x = NAN;
  EXPECT_ERROR(input, "no finite x", draw_curves(curves));
  curves = falling(1);
  curves.width_mm = 5;
  EXPECT_ERROR(input, "a width of 5 mm", draw_curves(curves));
}

TEST(Curves, SayTheirLastValueOrNot) {
  Curves curves = falling(1);
  const auto named = [&](const std::string& name) {
    int times = 0;
    for (const Element& element : checked_svg(draw_curves(curves)))
      times += element.name == "text" && element.text == name ? 1 : 0;
    return times;
  };
  EXPECT_EQ(named("run 0 1.0067"), 1) << "1 + exp(-5)";
  EXPECT_EQ(named("run 0"), 0);
  curves.show_last = false;
  EXPECT_EQ(named("run 0 1.0067"), 0);
  EXPECT_EQ(named("run 0"), 1);
}

// x that are no steps: the axis is as long as they are.
TEST(Curves, FillTheWidthWithFractions) {
  Curves curves;
  curves.series = {{"", {{-3.0, 1}, {-1.5, 2}, {-0.2, 3}}}};
  double from = 1e9, to = 0, tick = 0;
  for (const Element& element : checked_svg(draw_curves(curves))) {
    if (element.name == "text" && element.text == "−1.0")
      tick = element.number("x");
    if (element.name != "line" || element.number("y1") != element.number("y2"))
      continue;
    from = std::min(from, element.number("x1"));
    to = std::max(to, element.number("x2"));
  }
  EXPECT_GT(tick, from + 0.5 * (to - from));
  EXPECT_LT(tick, from + 0.8 * (to - from));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (const char c : text)
    if (c == '\n')
      lines.push_back(std::move(line)), line.clear();
    else
      line += c;
  return lines;
}

TEST(CurvesText, FitsTheTerminalAndFallsToTheRight) {
  for (const bool unicode : {false, true})
    for (const int columns : {20, 40, 80, 200}) {
      const std::string text =
          curves_text(falling(2), {.columns = columns, .unicode = unicode});
      const auto lines = lines_of(text);
      for (const std::string& line : lines)
        EXPECT_LE(display_columns(line), columns) << line;
      // The first curve is the lower one: its end is in the lowest row of all.
      std::size_t first_a = 0, last_a = 0;
      for (std::size_t i = 1; i < 17; ++i) {
        const std::size_t bar = lines[i].find(unicode ? "│" : "|");
        const std::size_t a = lines[i].find('a', bar);
        if (a == std::string::npos) continue;
        if (first_a == 0) first_a = i;
        last_a = i;
      }
      EXPECT_GT(first_a, 1u);
      EXPECT_GT(last_a, first_a);
      EXPECT_EQ(lines[lines.size() - 2], "a run 0 1.0067");
      EXPECT_EQ(lines[lines.size() - 1], "b run 1 2.0067");
    }
}

TEST(CurvesText, IsAsciiWhereTheTerminalIs) {
  Curves curves = falling(2);
  curves.series[0].name = "שלום\x1b[31m";
  for (Point& point : curves.series[0].points) point.y -= 5;
  for (const char c : curves_text(curves, {.columns = 60}))
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(CurvesText, ColoursOneCurveAsOne) {
  const std::string text =
      curves_text(falling(2), {.columns = 60, .colour = true, .unicode = true});
  EXPECT_NE(text.find("\x1b[38;5;32m"), text.npos);
  EXPECT_NE(text.find("\x1b[38;5;172m"), text.npos);
  EXPECT_NE(
      curves_text(falling(1), {.columns = 60, .unicode = true}).find("⠤ run 0"),
      std::string::npos);
}

}  // namespace
}  // namespace qkv::plot
