// The MLP lecture's picture of an embedding: each token's name where it lies.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "plot/chart.h"
#include "plot/plane.h"
#include "qkv/plot_course.h"

namespace qkv::plot {
namespace {

constexpr double kMargin = 4, kRadius = 5.5;

// All values, with room for the dots at both ends.
Axis with_room(double low, double high) {
  if (!(low <= high)) low = -1, high = 1;
  const double room =
      std::max(0.06 * (high - low), 1e-9 + 1e-3 * std::abs(high));
  return {low - room, high + room};
}

}  // namespace

Picture draw_scatter(const Scatter& scatter) {
  check_width("draw_scatter", scatter.width_mm);
  double low[2], high[2];
  std::fill_n(low, 2, std::numeric_limits<double>::infinity());
  std::fill_n(high, 2, -std::numeric_limits<double>::infinity());
  for (const NamedDot& dot : scatter.dots) {
    if (!std::isfinite(dot.x) || !std::isfinite(dot.y))
      fail_input("[draw_scatter] '{}' lies at ({}, {})", dot.name, dot.x,
                 dot.y);
    low[0] = std::min(low[0], dot.x), high[0] = std::max(high[0], dot.x);
    low[1] = std::min(low[1], dot.y), high[1] = std::max(high[1], dot.y);
  }
  const double width = scatter.width_mm * kPointsPerMm;
  const Plane plane =
      placed_plane(with_room(low[0], high[0]), with_room(low[1], high[1]),
                   width, kMargin + (scatter.title.empty() ? 4 : 20), 0.9);
  Drawing drawing(width, height_below(plane), scatter.title, scatter.about);
  drawing.heading(kMargin, kMargin + kTitleSize, width - 2 * kMargin,
                  scatter.title);
  draw_plane(drawing, plane, scatter.x_name, scatter.y_name);
  const Rgb ground = sequential(Ground::light)[40];
  for (const NamedDot& dot : scatter.dots)
    drawing.circle(plane.x.at(dot.x), plane.y.at(dot.y), kRadius,
                   {.fill = ground, .stroke = kEdge, .width = 0.4});
  // Names over all circles, so that none is hidden by a neighbour.
  for (const NamedDot& dot : scatter.dots)
    drawing.text(plane.x.at(dot.x), plane.y.at(dot.y) + 2.5, dot.name,
                 {.anchor = Anchor::middle, .fill = kInk, .bold = true});
  return picture_of(std::move(drawing));
}

}  // namespace qkv::plot
