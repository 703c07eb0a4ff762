// What a classifier says all over a plane, as micrograd's demo draws it.
#include <cmath>

#include "core/check.h"
#include "plot/chart.h"
#include "plot/plane.h"
#include "qkv/plot_course.h"

namespace qkv::plot {
namespace {

constexpr double kMargin = 4, kRadius = 2.4;
constexpr Rgb kPositive = kSeries[0].colour, kNegative = kSeries[1].colour;

Rgb pale(Rgb colour, double share) {
  const auto mix = [share](std::uint8_t c) {
    return static_cast<std::uint8_t>(std::lround(255 - share * (255 - c)));
  };
  return {mix(colour.r), mix(colour.g), mix(colour.b)};
}

double score(const DecisionBoundary& b, int row, int column) {
  return b.scores[static_cast<std::size_t>(row) * b.columns + column];
}

void check(const DecisionBoundary& b) {
  check_width("draw_decision_boundary", b.width_mm);
  if (b.columns < 2 || b.rows < 2 ||
      b.scores.size() != static_cast<std::size_t>(b.columns) * b.rows)
    fail_input("[draw_decision_boundary] {} scores for {} x {} places",
               b.scores.size(), b.rows, b.columns);
  if (!(b.x_low < b.x_high) || !(b.y_low < b.y_high))
    fail_input("[draw_decision_boundary] a plane from ({}, {}) to ({}, {})",
               b.x_low, b.y_low, b.x_high, b.y_high);
  for (const double s : b.scores)
    if (!std::isfinite(s))
      fail_input("[draw_decision_boundary] a score is {}", s);
}

// The middle of a part, as a value along the axis.
double middle(double low, double high, int parts, double index) {
  return low + (index + 0.5) / parts * (high - low);
}

// Where the score is 0, by the squares between four middles; a side that it
// crosses is crossed where a straight line between its ends is 0.
Path zero_line(const DecisionBoundary& b, const Plane& plane) {
  Path path;
  for (int row = 0; row + 1 < b.rows; ++row)
    for (int column = 0; column + 1 < b.columns; ++column) {
      constexpr int kCorners[5][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}, {0, 0}};
      int crossed = 0;
      for (int side = 0; side < 4; ++side) {
        const auto [r0, c0] = kCorners[side];
        const auto [r1, c1] = kCorners[side + 1];
        const double from = score(b, row + r0, column + c0);
        const double to = score(b, row + r1, column + c1);
        if ((from > 0) == (to > 0)) continue;
        const double t = from / (from - to);
        const double x = plane.x.at(
            middle(b.x_low, b.x_high, b.columns, column + c0 + t * (c1 - c0)));
        const double y = plane.y.at(
            middle(b.y_low, b.y_high, b.rows, row + r0 + t * (r1 - r0)));
        if (++crossed % 2 == 1)
          path.begin(x, y);
        else
          path.to(x, y);
      }
    }
  return path;
}

// The places where the score is above `least`, in one path: no seams.
Path above(const DecisionBoundary& b, const Plane& plane, double least) {
  const double wide = (plane.x.to - plane.x.from) / b.columns;
  const double high = (plane.y.from - plane.y.to) / b.rows;
  Path path;
  for (int row = 0; row < b.rows; ++row)
    for (int begin = 0, end = 0; begin < b.columns; begin = end) {
      const bool inside = score(b, row, begin) > least;
      end = begin + 1;
      while (end < b.columns && (score(b, row, end) > least) == inside) ++end;
      if (!inside) continue;
      const double left = plane.x.from + begin * wide;
      const double right = plane.x.from + end * wide;
      const double bottom = plane.y.from - row * high;
      path.begin(left, bottom)
          .to(right, bottom)
          .to(right, bottom - high)
          .to(left, bottom - high)
          .end();
    }
  return path;
}

// Each colour over the one before.
void colour_ground(Drawing& drawing, const DecisionBoundary& b,
                   const Plane& plane) {
  drawing.rect(plane.x.from, plane.y.to, plane.x.to - plane.x.from,
               plane.y.from - plane.y.to, filled(pale(kNegative, 0.55)));
  drawing.path(above(b, plane, -1), filled(pale(kNegative, 0.3)));
  drawing.path(above(b, plane, 0), filled(pale(kPositive, 0.3)));
  drawing.path(above(b, plane, 1), filled(pale(kPositive, 0.55)));
}

void mark(Drawing& drawing, double x, double y, bool positive) {
  if (positive)
    drawing.circle(x, y, kRadius,
                   {.fill = kPositive, .stroke = kPaper, .width = 0.6});
  else
    drawing.rect(x - kRadius, y - kRadius, 2 * kRadius, 2 * kRadius,
                 {.fill = kNegative, .stroke = kPaper, .width = 0.6});
}

}  // namespace

Picture draw_decision_boundary(const DecisionBoundary& b) {
  check(b);
  const double width = b.width_mm * kPointsPerMm;
  const double top = kMargin + (b.title.empty() ? 14 : 30);
  const Plane plane =
      placed_plane({b.x_low, b.x_high}, {b.y_low, b.y_high}, width, top, 0.8);
  Drawing drawing(width, height_below(plane), b.title, b.about);
  drawing.heading(kMargin, kMargin + kTitleSize, width - 2 * kMargin, b.title);
  colour_ground(drawing, b, plane);
  drawing.path(zero_line(b, plane), stroked(kInk, 1));
  for (const Example& example : b.examples)
    mark(drawing, plane.x.at(example.x), plane.y.at(example.y),
         example.positive);
  draw_plane(drawing, plane, "", "");
  double x = plane.x.from;
  for (const bool positive : {true, false}) {
    const std::string& name = positive ? b.positive : b.negative;
    mark(drawing, x + kRadius, top - 8, positive);
    drawing.text(x + 2 * kRadius + 4, top - 5.5, name, {});
    x += 2 * kRadius + sans_width(name, kTextSize) + 16;
  }
  drawing.text(x, top - 5.5, "pale: the score is between \u22121 and 1", {});
  return picture_of(std::move(drawing));
}

}  // namespace qkv::plot
