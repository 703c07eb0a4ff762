#include "plot/series.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qkv::plot {

std::vector<Point> smoothed(std::span<const Point> raw, int points) {
  std::vector<Point> finite;
  std::vector<double> sums = {0};
  for (const Point& point : raw) {
    if (!std::isfinite(point.y)) continue;
    finite.push_back(point);
    sums.push_back(sums.back() + point.y);
  }
  const std::size_t reach = std::max(points, 1) / 2;
  for (std::size_t i = 0; i < finite.size(); ++i) {
    const std::size_t half = std::min(reach, i);
    const std::size_t end = std::min(i + half + 1, finite.size());
    finite[i].y = (sums[end] - sums[i - half]) / (end - (i - half));
  }
  return finite;
}

Point middle_range(std::span<const Point> points, double below) {
  std::vector<double> values;
  for (const Point& point : points)
    if (std::isfinite(point.y)) values.push_back(point.y);
  if (values.empty()) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  const auto skip = static_cast<std::ptrdiff_t>(below * values.size());
  std::nth_element(values.begin(), values.begin() + skip, values.end());
  const double low = values[skip];
  std::nth_element(values.begin(), values.end() - 1 - skip, values.end());
  return {low, *(values.end() - 1 - skip)};
}

std::vector<Column> columns_of(std::span<const Point> points, const Axis& x,
                               double column_width) {
  std::vector<Column> columns;
  for (const Point& point : points) {
    if (!std::isfinite(point.y)) continue;
    const double place =
        (std::floor(x.at(point.x) / column_width) + 0.5) * column_width;
    if (columns.empty() || columns.back().x != place) {
      columns.push_back({place, point.y, point.y});
    } else {
      columns.back().low = std::min(columns.back().low, point.y);
      columns.back().high = std::max(columns.back().high, point.y);
    }
  }
  return columns;
}

}  // namespace qkv::plot
