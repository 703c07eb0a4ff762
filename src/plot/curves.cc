// Several curves over each other, for comparing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "plot/chart.h"
#include "plot/number.h"

namespace qkv::plot {
namespace {

// Colours repeat after six curves, then with other dashes.
Style style_of(std::size_t i) {
  constexpr std::size_t n = kSeries.size();
  return stroked(kSeries[i % n].colour, 1.25, kSeries[(i + i / n) % n].dash);
}

Axis y_axis(const Curves& curves) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto include = [&](double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const Series& series : curves.series)
    for (const Point& point : series.points) include(point.y);
  for (const Level& level : curves.levels) include(level.y);
  return fitted_y(low, high);
}

Axis x_axis(const Curves& curves) {
  std::vector<std::span<const Point>> all;
  for (const Series& series : curves.series) all.push_back(series.points);
  return fitted_x(all, 0, curves.log_x);
}

}  // namespace

Picture draw_curves(const Curves& curves) {
  check_width("draw_curves", curves.width_mm);
  for (const Series& series : curves.series)
    check_points("draw_curves", series.points);
  Chart chart(curves.title, curves.about, curves.width_mm, x_axis(curves),
              y_axis(curves));
  chart.name_levels(curves.levels);
  for (std::size_t i = 0; i < curves.series.size(); ++i) {
    const Series& series = curves.series[i];
    if (const Point* last = last_finite(series.points))
      chart.name(*last,
                 curves.show_last ? series.name + " " + loss_text(last->y)
                                  : series.name,
                 [i](Drawing& drawing, double x, double y) {
                   drawing.line(x, y, x + kSwatch, y, style_of(i));
                 });
  }
  chart.draw_axes(curves.y_name, curves.x_name);
  chart.draw_levels(curves.levels);
  for (std::size_t i = 0; i < curves.series.size(); ++i) {
    const auto columns = columns_of(curves.series[i].points, chart.x(), 0.5);
    if (columns.size() == 1)
      chart.drawing().circle(columns[0].x, chart.y().at(columns[0].low), 2,
                             filled(*style_of(i).stroke));
    if (columns.size() > 1)
      chart.drawing().path(polyline(columns, chart.y()), style_of(i));
  }
  chart.draw_names();
  return std::move(chart).finish();
}

}  // namespace qkv::plot
