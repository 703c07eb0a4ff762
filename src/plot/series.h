// Numbers of a training run prepared for drawing.
#pragma once

#include <span>
#include <vector>

#include "plot/axis.h"
#include "qkv/plot.h"

namespace qkv::plot {

// The mean of the `points` values around each; fewer at the start, where the
// curve is steep, so that it does not lag behind, and on one side at the end.
// What is not finite is left out.
std::vector<Point> smoothed(std::span<const Point> raw, int points);

// The values between the fractions `below` and 1 − `below`, finite ones only:
// {low, high}; {NaN, NaN} when there is none. Few values are all taken.
Point middle_range(std::span<const Point> points, double below);

// The smallest and largest value that falls within one column of the picture.
struct Column {
  double x, low, high;  // x in points
};
std::vector<Column> columns_of(std::span<const Point> points, const Axis& x,
                               double column_width);

}  // namespace qkv::plot
