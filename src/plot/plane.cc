#include "plot/plane.h"

#include "plot/number.h"

namespace qkv::plot {
namespace {

constexpr double kMargin = 4, kLeft = 34, kSpacing = 30;

}  // namespace

Plane placed_plane(const Axis& x, const Axis& y, double width, double top,
                   double shape) {
  Plane plane{x, y};
  plane.x.from = kMargin + kLeft;
  plane.x.to = width - kMargin - 4;
  plane.y.to = top;
  plane.y.from = top + shape * (plane.x.to - plane.x.from);
  return plane;
}

double height_below(const Plane& plane) { return plane.y.from + 26; }

void draw_plane(Drawing& drawing, const Plane& plane, const std::string& x_name,
                const std::string& y_name) {
  const auto& [x, y] = plane;
  const Ticks along = ticks(x, kSpacing), up = ticks(y, kSpacing);
  for (const double value : along.values) {
    const double at = x.at(value);
    drawing.line(at, y.from, at, y.from + 3, stroked(kEdge, 0.5));
    drawing.text(at, y.from + 11, fixed_text(value, along.decimals),
                 {.anchor = Anchor::middle, .fill = kInk3});
  }
  for (const double value : up.values) {
    const double at = y.at(value);
    drawing.line(x.from - 3, at, x.from, at, stroked(kEdge, 0.5));
    drawing.text(x.from - 5, at + 2.5, fixed_text(value, up.decimals),
                 {.anchor = Anchor::end, .fill = kInk3});
  }
  drawing.rect(x.from, y.to, x.to - x.from, y.from - y.to, stroked(kEdge, 0.5));
  drawing.text((x.from + x.to) / 2, y.from + 21, x_name,
               {.anchor = Anchor::middle});
  if (!y_name.empty())
    drawing.text(kMargin + 6, (y.from + y.to) / 2, y_name,
                 {.anchor = Anchor::middle, .turn = -90});
}

}  // namespace qkv::plot
