#include "plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "plot/number.h"

namespace qkv::plot {
namespace {

constexpr double kMargin = 4;
constexpr double kLineHeight = 9.5;
constexpr Style kLevelLine = {
    .stroke = kInk3, .width = 0.75, .dash = {1, 2.5, 1, 2.5}};

double height_for(double width) {
  return std::clamp(0.45 * width, 140.0, 230.0);
}

}  // namespace

Axis fitted_y(double low, double high) {
  if (!(low <= high)) low = 0, high = 1;
  const bool constant =
      high - low <= 1e-6 * std::max(std::abs(low), std::abs(high)) + 1e-12;
  const double margin =
      constant ? std::max(0.1 * std::abs(low), 0.1) : 0.04 * (high - low);
  return {low - margin, high + margin, 0, 1, false};
}

Axis fitted_x(const std::vector<std::span<const Point>>& series, double last_x,
              bool log) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  if (std::isfinite(last_x) && last_x > 0) high = last_x;
  bool whole = true;
  for (const auto points : series)
    for (const Point& point : points) {
      low = std::min(low, point.x);
      high = std::max(high, point.x);
      whole = whole && point.x == std::floor(point.x);
    }
  if (!std::isfinite(low)) low = 0;
  high = std::max(high, low);
  if (log) return {std::max(low, 1.0), std::max(high, 10.0), 0, 1, true};
  if (low < 0.1 * high) low = std::min(low, 0.0);
  // Ticks of steps are whole numbers, so of few steps the axis is longer.
  const double least = whole ? 10 : 1e-9 * std::max(std::abs(low), 1.0);
  return {low, std::max(high, low + least), 0, 1, false};
}

void check_width(std::string_view operation, double width_mm) {
  if (!(width_mm >= 40 && width_mm <= 1000))
    fail_input("[{}] a width of {} mm; 40 to 1000 can be drawn", operation,
               width_mm);
}

void check_points(std::string_view operation, std::span<const Point> points) {
  for (const Point& point : points)
    if (!std::isfinite(point.x))
      fail_input("[{}] a point has no finite x", operation);
}

Path polyline(std::span<const Column> columns, const Axis& y) {
  Path path;
  for (const Column& column : columns)
    path.to(column.x, y.at((column.low + column.high) / 2));
  return path;
}

const Point* last_finite(std::span<const Point> points) {
  for (auto point = points.rbegin(); point != points.rend(); ++point)
    if (std::isfinite(point->y)) return &*point;
  return nullptr;
}

Chart::Chart(const std::string& title, const std::string& about,
             double width_mm, const Axis& x, const Axis& y)
    : title_(title),
      x_(x),
      y_(y),
      drawing_(width_mm * kPointsPerMm, height_for(width_mm * kPointsPerMm),
               title, about) {}

void Chart::name(const Point& end, std::string text, Swatch swatch,
                 bool joined) {
  if (std::isfinite(end.y))
    labels_.push_back({end, std::move(text), std::move(swatch), joined});
}

void Chart::name_levels(const std::vector<Level>& levels) {
  for (const Level& level : levels)
    name({x_.high, level.y}, level.name,
         [](Drawing& drawing, double x, double y) {
           drawing.line(x, y, x + kSwatch, y, kLevelLine);
         });
}

// The longest name decides where the plot ends.
void Chart::draw_axes(const std::string& above, const std::string& x_name) {
  const double width = drawing_.width(), height = drawing_.height();
  double widest = 0;
  for (const Label& label : labels_)
    widest = std::max(widest, sans_width(label.text, kTextSize));
  double tick_width = 0;
  const Ticks likely = ticks(Axis{y_.low, y_.high, 0, height - 60}, 18);
  for (const double value : likely.values)
    tick_width = std::max(
        tick_width, sans_width(fixed_text(value, likely.decimals), kTextSize));
  x_.from = kMargin + std::ceil(tick_width) + 4;
  x_.to = width - kMargin - (labels_.empty() ? 8 : widest + kSwatch + 14);
  y_.from = height - kMargin - 24;
  y_.to = kMargin + (title_.empty() ? 18 : 29);

  drawing_.heading(kMargin, kMargin + kTitleSize, width - 2 * kMargin, title_);
  drawing_.text(kMargin, y_.to - 9, above, {});
  const Ticks y_ticks = ticks(y_, 18);
  for (const double value : y_ticks.values) {
    const double y = y_.at(value);
    drawing_.line(x_.from, y, x_.to, y, stroked(kRule, 0.35));
    drawing_.text(x_.from - 4, y + 2.5, fixed_text(value, y_ticks.decimals),
                  {.anchor = Anchor::end, .fill = kInk3});
  }
  drawing_.line(x_.from, y_.from, x_.to, y_.from, stroked(kEdge, 0.5));
  const Ticks x_ticks = ticks(x_, 44);
  for (const double value : x_ticks.values) {
    const double x = x_.at(value);
    drawing_.line(x, y_.from, x, y_.from + 3, stroked(kEdge, 0.5));
    drawing_.text(x, y_.from + 10.5, fixed_text(value, x_ticks.decimals),
                  {.anchor = Anchor::middle, .fill = kInk3});
  }
  drawing_.text((x_.from + x_.to) / 2, y_.from + 22,
                x_name + (x_.log ? ", log scale" : ""),
                {.anchor = Anchor::middle});
}

void Chart::draw_levels(const std::vector<Level>& levels) {
  for (const Level& level : levels)
    if (std::isfinite(level.y))
      drawing_.line(x_.from, y_.at(level.y), x_.to, y_.at(level.y), kLevelLine);
}

// Moves names apart so that none covers another and all stay within the plot.
void Chart::spread() {
  for (Label& label : labels_) {
    label.line_x = x_.at(label.end.x);
    label.line_y = label.y = y_.at(label.end.y);
  }
  std::stable_sort(labels_.begin(), labels_.end(),
                   [](const Label& a, const Label& b) { return a.y < b.y; });
  double free = y_.to;
  for (Label& label : labels_) {
    label.y = std::max(label.y, free);
    free = label.y + kLineHeight;
  }
  double limit = y_.from;
  for (auto label = labels_.rbegin(); label != labels_.rend(); ++label) {
    label->y = std::min(label->y, limit);
    limit = label->y - kLineHeight;
  }
}

void Chart::draw_names() {
  spread();
  const double x = x_.to + 8;
  for (const Label& label : labels_) {
    // A hairline joins a name to a line that ends elsewhere.
    const bool apart =
        x_.to - label.line_x > 6 || std::abs(label.y - label.line_y) > 2;
    if (apart && label.joined)
      drawing_.path(Path()
                        .begin(label.line_x + 2, label.line_y)
                        .to(x_.to, label.line_y)
                        .to(x - 1, label.y),
                    stroked(kEdge, 0.35));
    label.swatch(drawing_, x, label.y);
    drawing_.text(x + kSwatch + 4, label.y + 2.5, label.text, {.fill = kInk});
  }
}

Picture Chart::finish() && { return picture_of(std::move(drawing_)); }

}  // namespace qkv::plot
