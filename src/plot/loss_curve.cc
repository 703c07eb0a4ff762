#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plot/chart.h"
#include "plot/number.h"

namespace qkv::plot {
namespace {

// Rare raw values at either end are left outside when they lie further off
// than this share of what the rest spans.
constexpr double kRare = 0.005, kFar = 0.25;
constexpr Rgb kTrain = kSeries[0].colour, kValidation = kSeries[1].colour;
constexpr Style kTrainLine = {.stroke = kTrain, .width = 1.25};
constexpr Style kValidationLine = {
    .stroke = kValidation, .width = 1, .dash = {4, 2, 4, 2}};

// The area between the smallest and the largest value of each column.
Path band(std::span<const Column> columns, const Axis& y) {
  Path path;
  for (const Column& column : columns) path.to(column.x, y.at(column.high));
  for (auto column = columns.rbegin(); column != columns.rend(); ++column)
    path.to(column->x, y.at(column->low));
  return path.end();
}

const Point* best_of(std::span<const Point> points) {
  const Point* best = nullptr;
  for (const Point& point : points)
    if (std::isfinite(point.y) && (best == nullptr || point.y < best->y))
      best = &point;
  return best;
}

// The values the y axis has to hold.
Axis y_axis(const LossCurve& curve, std::span<const Point> smooth) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto include = [&](double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  };
  const Point most = middle_range(curve.train, kRare);
  include(most.x);
  include(most.y);
  for (const Point& point : curve.validation) include(point.y);
  for (const Level& level : curve.levels) include(level.y);
  if (!smooth.empty()) include(smooth.back().y);
  if (low > high) low = 0, high = 1;
  const double far = kFar * (high - low);
  const double lowest = low - far, highest = high + far;
  for (const Point& point : curve.train)
    if (point.y >= lowest && point.y <= highest) include(point.y);
  return fitted_y(low, high);
}

void draw_best(Drawing& drawing, double x, double y) {
  drawing.circle(x, y, 3.5, stroked(kInk, 0.75));
}

class LossPicture {
 public:
  explicit LossPicture(const LossCurve& curve)
      : curve_(curve),
        window_(curve.smoothing > 0
                    ? curve.smoothing
                    : std::max<int>(1, curve.train.size() / 50)),
        smooth_(smoothed(curve.train, window_)),
        chart_(curve.title, curve.about, curve.width_mm,
               fitted_x({curve.train, curve.validation}, curve.last_x,
                        curve.log_x),
               y_axis(curve, smooth_)),
        drawing_(chart_.drawing()),
        x_(chart_.x()),
        y_(chart_.y()) {}

  Picture draw() && {
    name_all();
    chart_.draw_axes(
        curve_.y_name + (window_ > 1
                             ? fmt::format("; train averaged over {} values",
                                           count_text(window_))
                             : ""),
        curve_.x_name);
    chart_.draw_levels(curve_.levels);
    draw_train();
    draw_validation();
    chart_.draw_names();
    if (curve_.train.empty() && curve_.validation.empty())
      drawing_.text((x_.from + x_.to) / 2, (y_.from + y_.to) / 2,
                    "no values yet", {.anchor = Anchor::middle, .fill = kInk3});
    return std::move(chart_).finish();
  }

 private:
  void name_all() {
    const auto dot = [](Drawing& drawing, double x, double y) {
      drawing.circle(x + kSwatch / 2, y, 1.75, filled(kValidation));
    };
    chart_.name_levels(curve_.levels);
    if (!smooth_.empty())
      chart_.name(smooth_.back(), "train " + loss_text(smooth_.back().y),
                  [](Drawing& drawing, double x, double y) {
                    drawing.line(x, y, x + kSwatch, y, kTrainLine);
                  });
    const Point* last = last_finite(curve_.validation);
    if (last == nullptr) return;
    const Point* best = best_of(curve_.validation);
    chart_.name(
        *last,
        "validation " + loss_text(last->y) + (best == last ? ", its best" : ""),
        [dot](Drawing& drawing, double x, double y) {
          drawing.line(x, y, x + kSwatch, y, kValidationLine);
          dot(drawing, x, y);
        });
    if (best != last)
      chart_.name(
          *best,
          fmt::format("best {} at {}", loss_text(best->y), count_text(best->x)),
          [dot](Drawing& drawing, double x, double y) {
            dot(drawing, x, y);
            draw_best(drawing, x + kSwatch / 2, y);
          },
          false);
  }

  void draw_train() {
    if (smooth_.empty()) return;
    const std::vector<Column> raw = columns_of(curve_.train, x_, 0.5);
    if (raw.size() == 1)
      drawing_.circle(raw[0].x, y_.at(raw[0].low), 2, filled(kTrain));
    if (raw.size() > 1)
      drawing_.path(
          band(raw, y_),
          {.fill = kTrain, .stroke = kTrain, .width = 0.5, .opacity = 0.3});
    const std::vector<Column> smooth = columns_of(smooth_, x_, 0.5);
    if (smooth.size() > 1) drawing_.path(polyline(smooth, y_), kTrainLine);
    draw_outside();
  }

  // What the picture leaves out, counted and said.
  void draw_outside() {
    int above = 0, below = 0, bad = 0;
    double highest = y_.high, lowest = y_.low, first_bad = 0;
    for (const Point& point : curve_.train) {
      if (std::isfinite(point.y)) {
        above += point.y > y_.high;
        below += point.y < y_.low;
        highest = std::max(highest, point.y);
        lowest = std::min(lowest, point.y);
      } else if (bad++ == 0) {
        first_bad = point.x;
      }
    }
    std::string note;
    if (above > 0)
      note = fmt::format("▲ {} above, to {}", count_text(above),
                         loss_text(highest));
    if (below > 0)
      note += fmt::format("{}▼ {} below, to {}", above > 0 ? "   " : "",
                          count_text(below), loss_text(lowest));
    if (!note.empty())
      drawing_.text(x_.to, y_.to - 9, note,
                    {.anchor = Anchor::end, .fill = kInk3});
    if (bad > 0)
      drawing_.text(
          x_.to, y_.to + 8,
          fmt::format("not finite: {}, first at {} {}", count_text(bad),
                      curve_.x_name, count_text(first_bad)),
          {.anchor = Anchor::end, .fill = kBad, .bold = true});
  }

  void draw_validation() {
    std::vector<Column> seen;
    for (const Point& point : curve_.validation)
      if (std::isfinite(point.y))
        seen.push_back({x_.at(point.x), point.y, point.y});
    if (seen.empty()) return;
    if (seen.size() > 1) drawing_.path(polyline(seen, y_), kValidationLine);
    // Dots while they stay apart.
    if (seen.size() * 4.5 < x_.to - x_.from)
      for (const Column& dot : seen)
        drawing_.circle(dot.x, y_.at(dot.low), 1.75,
                        {.fill = kValidation, .stroke = kPaper, .width = 0.5});
    const Point* best = best_of(curve_.validation);
    draw_best(drawing_, x_.at(best->x), y_.at(best->y));
  }

  const LossCurve& curve_;
  int window_;
  std::vector<Point> smooth_;
  Chart chart_;
  Drawing& drawing_;
  const Axis &x_, &y_;
};

}  // namespace

Picture loss_curve(const LossCurve& curve) {
  check_width("loss_curve", curve.width_mm);
  check_points("loss_curve", curve.train);
  check_points("loss_curve", curve.validation);
  return LossPicture(curve).draw();
}

}  // namespace qkv::plot
