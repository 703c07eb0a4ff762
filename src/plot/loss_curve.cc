#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/check.h"
#include "plot/axis.h"
#include "plot/drawing.h"
#include "plot/number.h"
#include "plot/series.h"

namespace qkv::plot {
namespace {

constexpr double kMargin = 4;
// Rare raw values at either end are left outside when they lie further off
// than this share of what the rest spans.
constexpr double kRare = 0.005, kFar = 0.25;
constexpr double kLineHeight = 9.5;
constexpr double kSwatch = 16;
constexpr Rgb kTrain = kSeries[0].colour, kValidation = kSeries[1].colour;
constexpr Style kTrainLine = {.stroke = kTrain, .width = 1.25};
constexpr Style kValidationLine = {
    .stroke = kValidation, .width = 1, .dash = {4, 2, 4, 2}};
constexpr Style kLevelLine = {
    .stroke = kInk3, .width = 0.75, .dash = {1, 2.5, 1, 2.5}};

// A name at the right end of what it names.
struct Label {
  double y;  // where the line ends; after spread(): where the name stands
  double line_y, line_x;
  std::string text;
  enum Kind { train, validation, best, level } kind;
};

// Moves names apart so that none covers another and all stay within the plot.
void spread(std::vector<Label>& labels, double top, double bottom) {
  std::stable_sort(labels.begin(), labels.end(),
                   [](const Label& a, const Label& b) { return a.y < b.y; });
  double free = top;
  for (Label& label : labels) {
    label.y = std::max(label.y, free);
    free = label.y + kLineHeight;
  }
  double limit = bottom;
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    label->y = std::min(label->y, limit);
    limit = label->y - kLineHeight;
  }
}

Path polyline(std::span<const Column> columns, const Axis& y) {
  Path path;
  for (const Column& column : columns)
    path.to(column.x, y.at((column.low + column.high) / 2));
  return path;
}

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

const Point* last_finite(std::span<const Point> points) {
  for (auto point = points.rbegin(); point != points.rend(); ++point)
    if (std::isfinite(point->y)) return &*point;
  return nullptr;
}

// The values the y axis has to hold; a constant gets room around it.
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
  const bool constant =
      high - low <= 1e-6 * std::max(std::abs(low), std::abs(high)) + 1e-12;
  const double margin =
      constant ? std::max(0.1 * std::abs(low), 0.1) : 0.04 * (high - low);
  return {low - margin, high + margin, 0, 1, false};
}

Axis x_axis(const LossCurve& curve) {
  double low = std::numeric_limits<double>::infinity();
  double high = std::isfinite(curve.last_x) ? curve.last_x : 0;
  for (const auto* points : {&curve.train, &curve.validation})
    for (const Point& point : *points) {
      low = std::min(low, point.x);
      high = std::max(high, point.x);
    }
  if (!std::isfinite(low)) low = 0;
  if (curve.log_x)
    return {std::max(low, 1.0), std::max(high, 10.0), 0, 1, true};
  if (low < 0.1 * high) low = std::min(low, 0.0);
  return {low, std::max(high, low + 10), 0, 1, false};  // ticks at whole steps
}

class LossPicture {
 public:
  explicit LossPicture(const LossCurve& curve)
      : curve_(curve),
        window_(curve.smoothing > 0
                    ? curve.smoothing
                    : std::max<int>(1, curve.train.size() / 50)),
        smooth_(smoothed(curve.train, window_)),
        x_(x_axis(curve)),
        y_(y_axis(curve, smooth_)),
        width_(curve.width_mm * kPointsPerMm),
        height_(std::clamp(0.45 * width_, 140.0, 230.0)),
        drawing_(width_, height_, curve.title, curve.about) {}

  Picture draw() && {
    lay_out();
    draw_axes();
    draw_levels();
    draw_train();
    draw_validation();
    draw_labels();
    if (curve_.train.empty() && curve_.validation.empty())
      drawing_.text((x_.from + x_.to) / 2, (y_.from + y_.to) / 2,
                    "no values yet", {.anchor = Anchor::middle, .fill = kInk3});
    return picture_of(std::move(drawing_));
  }

 private:
  // Names first, since the longest decides where the plot ends.
  void lay_out() {
    for (const Level& level : curve_.levels)
      add_label(Label::level, {x_.high, level.y}, level.name);
    if (!smooth_.empty())
      add_label(Label::train, smooth_.back(),
                "train " + loss_text(smooth_.back().y));
    if (const Point* last = last_finite(curve_.validation)) {
      const Point* best = best_of(curve_.validation);
      add_label(Label::validation, *last,
                "validation " + loss_text(last->y) +
                    (best == last ? ", its best" : ""));
      if (best != last)
        add_label(Label::best, *best,
                  fmt::format("best {} at {}", loss_text(best->y),
                              count_text(best->x)));
    }
    double widest = 0;
    for (const Label& label : labels_)
      widest = std::max(widest, sans_width(label.text, kTextSize));

    const Ticks y_ticks = ticks(Axis{y_.low, y_.high, 0, height_ - 60}, 18);
    double tick_width = 0;
    for (const double value : y_ticks.values)
      tick_width =
          std::max(tick_width,
                   sans_width(fixed_text(value, y_ticks.decimals), kTextSize));
    x_.from = kMargin + std::ceil(tick_width) + 4;
    x_.to = width_ - kMargin - (labels_.empty() ? 8 : widest + kSwatch + 14);
    y_.from = height_ - kMargin - 24;
    y_.to = kMargin + (curve_.title.empty() ? 18 : 29);
    for (Label& label : labels_) {
      label.line_x = x_.at(label.line_x);
      label.line_y = label.y = y_.at(label.line_y);
    }
    spread(labels_, y_.to, y_.from);
  }

  void add_label(Label::Kind kind, const Point& end, std::string text) {
    if (std::isfinite(end.y))
      labels_.push_back({end.y, end.y, end.x, std::move(text), kind});
  }

  void draw_axes() {
    drawing_.heading(kMargin, kMargin + kTitleSize, width_ - 2 * kMargin,
                     curve_.title);
    drawing_.text(
        kMargin, y_.to - 9,
        curve_.y_name + (window_ > 1
                             ? fmt::format("; train averaged over {} values",
                                           count_text(window_))
                             : ""),
        {});
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
                  curve_.x_name + (curve_.log_x ? ", log scale" : ""),
                  {.anchor = Anchor::middle});
  }

  void draw_levels() {
    for (const Level& level : curve_.levels)
      if (std::isfinite(level.y))
        drawing_.line(x_.from, y_.at(level.y), x_.to, y_.at(level.y),
                      kLevelLine);
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
    draw_ring(x_.at(best->x), y_.at(best->y));
  }

  void draw_ring(double x, double y) {
    drawing_.circle(x, y, 3.5, stroked(kInk, 0.75));
  }

  void draw_labels() {
    const double x = x_.to + 8;
    for (const Label& label : labels_) {
      // A hairline joins a name to a line that ends elsewhere.
      const bool apart =
          x_.to - label.line_x > 6 || std::abs(label.y - label.line_y) > 2;
      if (apart && label.kind != Label::best)
        drawing_.path(Path()
                          .begin(label.line_x + 2, label.line_y)
                          .to(x_.to, label.line_y)
                          .to(x - 1, label.y),
                      stroked(kEdge, 0.35));
      draw_swatch(x, label);
      drawing_.text(x + kSwatch + 4, label.y + 2.5, label.text, {.fill = kInk});
    }
  }

  void draw_swatch(double x, const Label& label) {
    const double y = label.y, middle = x + kSwatch / 2;
    switch (label.kind) {
      case Label::train:
        drawing_.line(x, y, x + kSwatch, y, kTrainLine);
        break;
      case Label::validation:
        drawing_.line(x, y, x + kSwatch, y, kValidationLine);
        drawing_.circle(middle, y, 1.75, filled(kValidation));
        break;
      case Label::best:
        drawing_.circle(middle, y, 1.75, filled(kValidation));
        draw_ring(middle, y);
        break;
      case Label::level:
        drawing_.line(x, y, x + kSwatch, y, kLevelLine);
        break;
    }
  }

  const LossCurve& curve_;
  int window_;
  std::vector<Point> smooth_;
  Axis x_, y_;
  double width_, height_;
  Drawing drawing_;
  std::vector<Label> labels_;
};

}  // namespace

Picture loss_curve(const LossCurve& curve) {
  if (!(curve.width_mm >= 40 && curve.width_mm <= 1000))
    fail_input("[loss_curve] a width of {} mm; 40 to 1000 can be drawn",
               curve.width_mm);
  for (const auto* points : {&curve.train, &curve.validation})
    for (const Point& point : *points)
      if (!std::isfinite(point.x))
        fail_input("[loss_curve] a point has no finite x");
  return LossPicture(curve).draw();
}

}  // namespace qkv::plot
