// Loss curves: places, marks, and the runs that are not as they should be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "qkv/plot.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

LossCurve falling(int steps) {
  LossCurve curve;
  curve.title = "falling";
  for (int i = 1; i <= steps; ++i)
    curve.train.push_back({i * 1.0, 2 + std::exp(-i / 50.0)});
  return curve;
}

// A tick's label; throws where there is none.
const Element& tick(const std::vector<Element>& picture,
                    const std::string& label) {
  const Element* found = text_element(picture, label);
  if (found == nullptr) throw std::runtime_error("no tick " + label);
  return *found;
}
double tick_x(const std::vector<Element>& picture, const std::string& label) {
  return tick(picture, label).number("x");
}
double tick_y(const std::vector<Element>& picture, const std::string& label) {
  return tick(picture, label).number("y") - 2.5;  // its baseline
}

std::vector<Element> dots(const std::vector<Element>& picture, double radius) {
  std::vector<Element> found;
  for (const Element& element : picture)
    if (element.name == "circle" && element.number("r") == radius)
      found.push_back(element);
  return found;
}

TEST(LossCurve, PointsLieWhereTheAxesSay) {
  LossCurve curve = falling(100);
  curve.validation = {{0, 3}, {25, 2.4}, {75, 2.0}};
  curve.last_x = 100;
  const auto picture = checked_svg(loss_curve(curve));
  const double x0 = tick_x(picture, "0"), x100 = tick_x(picture, "100");
  const double y2 = tick_y(picture, "2.0"), y3 = tick_y(picture, "3.0");
  EXPECT_GT(x100, x0);
  EXPECT_LT(y3, y2);  // upwards
  const auto marks = dots(picture, 1.75);
  ASSERT_GE(marks.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Point& point = curve.validation[i];
    EXPECT_NEAR(marks[i].number("cx"), x0 + point.x / 100 * (x100 - x0), 0.02);
    EXPECT_NEAR(marks[i].number("cy"), y2 + (point.y - 2) * (y3 - y2), 0.02);
  }
  // The ring marks the smallest.
  const auto rings = dots(picture, 3.5);
  ASSERT_GE(rings.size(), 1u);
  EXPECT_EQ(rings[0].number("cx"), marks[2].number("cx"));
  EXPECT_TRUE(text_element(picture, "validation 2.0000, its best"));
}

TEST(LossCurve, NamesTheBestWhenItIsNotTheLast) {
  LossCurve curve = falling(2000);
  curve.validation = {{0, 3}, {1000, 2.0853}, {2000, 2.0871}};
  const auto picture = checked_svg(loss_curve(curve));
  EXPECT_TRUE(text_element(picture, "validation 2.0871"));
  EXPECT_TRUE(text_element(picture, "best 2.0853 at 1,000"));
}

TEST(LossCurve, LogAxisSpacesDecadesEvenly) {
  LossCurve curve = falling(1000);
  curve.validation = {{0, 3}, {100, 2.2}, {1000, 2}};
  curve.log_x = true;
  const auto picture = checked_svg(loss_curve(curve));
  const double x1 = tick_x(picture, "1"), x10 = tick_x(picture, "10");
  const double x100 = tick_x(picture, "100"), x1000 = tick_x(picture, "1,000");
  EXPECT_NEAR(x100 - x10, x10 - x1, 0.02);
  EXPECT_NEAR(x1000 - x100, x10 - x1, 0.02);
  const auto marks = dots(picture, 1.75);
  EXPECT_NEAR(marks[0].number("cx"), x1, 0.02);  // step 0 stands at 1
  EXPECT_NEAR(marks[1].number("cx"), x100, 0.02);
}

TEST(LossCurve, LevelsHaveTheirNames) {
  LossCurve curve = falling(100);
  curve.levels = {{std::log(27), "ln 27 = 3.296, guessing"}, {2, "bigram"}};
  const auto picture = checked_svg(loss_curve(curve));
  const Element* name = text_element(picture, "ln 27 = 3.296, guessing");
  ASSERT_TRUE(name);
  const double y2 = tick_y(picture, "2.0"), y3 = tick_y(picture, "3.0");
  const double y = y2 + (std::log(27) - 2) * (y3 - y2);
  EXPECT_NEAR(name->number("y") - 2.5, y, 0.05);
  int dotted = 0;
  for (const Element& element : picture)
    dotted += element.name == "line" &&
              element.attributes.contains("stroke-dasharray") &&
              std::abs(element.number("y1") - y) < 0.05;
  EXPECT_EQ(dotted, 2);  // the line, and the sample beside its name
}

TEST(LossCurve, NamesDoNotCoverEachOther) {
  LossCurve curve = falling(400);
  curve.validation = {{100, 2.0}, {200, 2.001}, {400, 2.002}};
  for (int i = 0; i < 4; ++i)
    curve.levels.push_back({2.0 + 1e-4 * i, "level " + std::to_string(i)});
  const auto picture = checked_svg(loss_curve(curve));
  std::vector<double> places;
  for (const char* text : {"level 0", "level 1", "level 2", "level 3",
                           "validation 2.0020", "best 2.0000 at 100"}) {
    const Element* element = text_element(picture, text);
    ASSERT_TRUE(element) << text;
    places.push_back(element->number("y"));
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i)
    EXPECT_GE(places[i] - places[i - 1], 9);
}

TEST(LossCurve, SaysWhatIsNotFinite) {
  LossCurve curve = falling(300);
  for (int i = 250; i < 300; ++i) curve.train[i].y = kNan;
  curve.train[20].y = std::numeric_limits<double>::infinity();
  curve.validation = {{100, 2.2}, {200, kNan}};
  const auto picture = checked_svg(loss_curve(curve));
  EXPECT_TRUE(text_element(picture, "not finite: 51, first at step 21"));
  EXPECT_TRUE(text_element(picture, "validation 2.2000, its best"));
}

TEST(LossCurve, CountsTheSpikesItCuts) {
  LossCurve curve = falling(1000);
  curve.train[500].y = 80;
  curve.train[600].y = 84;
  const auto picture = checked_svg(loss_curve(curve));
  EXPECT_TRUE(some_text_contains(picture, "▲ 2 above, to 84.0000"));
  // They do not squeeze the rest.
  tick(picture, "2.2");
}

TEST(LossCurve, DrawsLittleOrNothing) {
  LossCurve curve;
  EXPECT_TRUE(text_element(checked_svg(loss_curve(curve)), "no values yet"));

  curve.train = {{1, 2.5}};
  auto picture = checked_svg(loss_curve(curve));
  EXPECT_TRUE(text_element(picture, "train 2.5000"));
  EXPECT_EQ(dots(picture, 2).size(), 1u);

  for (int i = 2; i < 500; ++i) curve.train.push_back({i * 1.0, 2.5});
  picture = checked_svg(loss_curve(curve));
  tick(picture, "2.5");

  curve.train.assign(10, {0, kNan});
  checked_svg(loss_curve(curve));
  curve.train.assign(3, {0, 0});
  checked_svg(loss_curve(curve));
  curve.last_x = kNan;
  checked_svg(loss_curve(curve));
  curve.train = {{1, 1e-300}, {2, 1e300}};
  checked_svg(loss_curve(curve));
}

TEST(LossCurve, StaysSmall) {
  LossCurve curve = falling(200000);
  for (std::size_t i = 0; i < curve.train.size(); ++i)
    curve.train[i].y += 0.1 * std::sin(i * 12.9898);
  EXPECT_LT(loss_curve(curve).svg().size(), 80000u);
}

TEST(LossCurve, HoldsOnPaperOfAnyWidth) {
  LossCurve curve = falling(500);
  curve.title = std::string(300, 'W');
  curve.levels = {{3.296, "ln 27 = 3.296, guessing"}};
  for (const double width : {60.0, 85.0, 120.0, 178.0, 300.0}) {
    curve.width_mm = width;
    const auto picture = checked_svg(loss_curve(curve));
    EXPECT_EQ(picture[1].name, "title");
    EXPECT_EQ(picture[1].text, curve.title);  // whole, although cut in sight
    EXPECT_TRUE(some_text_contains(picture, "WWW…"));
  }
}

TEST(LossCurve, EscapesWhatItIsGiven) {
  LossCurve curve = falling(20);
  curve.title = "<script>alert(\"1\") & more</script>";
  curve.about = "qkv plot 'a<b>&c'";
  curve.levels = {{2.5, "a < b & c"}};
  const auto picture = checked_svg(loss_curve(curve));
  EXPECT_EQ(picture[1].text, curve.title);
  EXPECT_EQ(picture[2].text, curve.about);
  EXPECT_TRUE(text_element(picture, "a < b & c"));
}

TEST(LossCurve, RefusesWhatItCannotPlace) {
  LossCurve curve = falling(5);
  curve.width_mm = kNan;
  EXPECT_ERROR(input, "a width of nan mm", loss_curve(curve));
  curve.width_mm = 85;
  curve.train[2].x = kNan;
  EXPECT_ERROR(input, "no finite x", loss_curve(curve));
}

}  // namespace
}  // namespace qkv::plot
