// Ticks and the numbers beside them.
#include "plot/axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plot/number.h"
#include "plot/series.h"

namespace qkv::plot {
namespace {

using Values = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_values(const Values& got, const Values& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], 1e-9 * std::abs(wanted[i]) + 1e-12);
}

TEST(Ticks, LinearAreRound) {
  const Ticks loss = ticks({1.93, 3.41, 0, 200}, 30);
  expect_values(loss.values, {2.0, 2.5, 3.0});
  EXPECT_EQ(loss.decimals, 1);
  const Ticks steps = ticks({0, 5000, 0, 420}, 44);
  expect_values(steps.values, {0, 1000, 2000, 3000, 4000, 5000});
  EXPECT_EQ(steps.decimals, 0);
  const Ticks fine = ticks({0.0301, 0.0349, 100, 0}, 20);
  expect_values(fine.values, {0.031, 0.032, 0.033, 0.034});
  EXPECT_EQ(fine.decimals, 3);
}

TEST(Ticks, LogarithmicAreDecadesOrDenser) {
  expect_values(ticks({1, 10000, 0, 200, true}, 44).values,
                {1, 10, 100, 1000, 10000});
  expect_values(ticks({1, 10, 0, 400, true}, 44).values, {1, 2, 5, 10});
  expect_values(ticks({1, 1e6, 0, 150, true}, 44).values, {1, 100, 1e4, 1e6});
}

TEST(Ticks, StandApart) {
  for (const double high : {0.003, 1.0, 7.0, 12.5, 99.0, 12345.0, 4e7})
    for (const double spacing : {18.0, 30.0, 44.0}) {
      const Axis axis = {0, high, 0, 300};
      const Values values = ticks(axis, spacing).values;
      ASSERT_GE(values.size(), 2u) << high;
      for (std::size_t i = 1; i < values.size(); ++i)
        EXPECT_GE(axis.at(values[i]) - axis.at(values[i - 1]), spacing - 1e-6);
    }
}

TEST(Axis, MapsAndClamps) {
  const Axis up = {1, 3, 200, 100};
  EXPECT_DOUBLE_EQ(up.at(1), 200);
  EXPECT_DOUBLE_EQ(up.at(2.5), 125);
  EXPECT_DOUBLE_EQ(up.at(9), 100);
  const Axis log = {1, 100, 0, 10, true};
  EXPECT_DOUBLE_EQ(log.at(10), 5);
  EXPECT_DOUBLE_EQ(log.at(0), 0);
}

TEST(Numbers, AreWrittenAsAgreed) {
  EXPECT_EQ(weight_text(0.3121), "0.312");
  EXPECT_EQ(weight_text(0.04123), "0.0412");
  EXPECT_EQ(weight_text(0.0009), "<0.001");
  EXPECT_EQ(weight_text(0), "0");
  EXPECT_EQ(weight_text(1), "1");
  EXPECT_EQ(cell_text(0.3121), ".31");
  EXPECT_EQ(cell_text(0.997), "1");
  EXPECT_EQ(cell_text(0), "0");
  EXPECT_EQ(score_text(-30.46), "−30.5");
  EXPECT_EQ(score_text(3.814), "3.81");
  EXPECT_EQ(score_text(0.001), "0");
  EXPECT_EQ(score_text(-kInfinity), "−∞");
  EXPECT_EQ(score_text(kNan), "NaN");
  EXPECT_EQ(loss_text(2.08531), "2.0853");
  EXPECT_EQ(count_text(10745088), "10,745,088");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(fixed_text(-0.25, 2), "−0.25");
  EXPECT_EQ(fixed_text(-0.001, 2), "0.00");
  EXPECT_EQ(fixed_text(-12000, 0), "−12,000");
  EXPECT_EQ(fixed_text(-1.5e12, 2), "−1.5e12");
}

TEST(Series, SmoothingFollowsAStraightLine) {
  std::vector<Point> line;
  for (int i = 0; i < 50; ++i) line.push_back({i * 1.0, 3.0 - 0.1 * i});
  const std::vector<Point> smooth = smoothed(line, 10);
  ASSERT_EQ(smooth.size(), 50u);
  // Symmetric windows change nothing on a line; the end averages backwards.
  for (int i = 0; i < 45; ++i) EXPECT_NEAR(smooth[i].y, line[i].y, 1e-12);
  EXPECT_NEAR(smooth[49].y, (line[44].y + line[49].y) / 2, 1e-12);
}

TEST(Series, SmoothingLeavesOutWhatIsNotFinite) {
  const std::vector<Point> points = {{1, 2}, {2, kNan}, {3, 4}, {4, kInfinity}};
  const std::vector<Point> smooth = smoothed(points, 1);
  ASSERT_EQ(smooth.size(), 2u);
  EXPECT_EQ(smooth[1].x, 3);
  EXPECT_EQ(smooth[1].y, 4);
}

TEST(Series, RangeWithoutRareValues) {
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) points.push_back({0, i * 1.0});
  points[500].y = 1e9;
  const Point range = middle_range(points, 0.005);
  EXPECT_EQ(range.x, 5);
  EXPECT_EQ(range.y, 995);
  EXPECT_EQ(middle_range(points, 0).y, 1e9);
  EXPECT_TRUE(std::isnan(middle_range({}, 0.005).x));
}

TEST(Series, ColumnsKeepTheExtremes) {
  const Axis x = {0, 100, 0, 10};
  const std::vector<Point> points = {{0, 5}, {1, 9}, {2, 1}, {50, 3}};
  const std::vector<Column> columns = columns_of(points, x, 0.5);
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].low, 1);
  EXPECT_EQ(columns[0].high, 9);
  EXPECT_EQ(columns[1].x, 5.25);
}

}  // namespace
}  // namespace qkv::plot
