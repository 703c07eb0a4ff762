// What line plots share: axes with ticks, levels to compare with, and names at
// the right end of what they name.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plot/axis.h"
#include "plot/drawing.h"
#include "plot/series.h"

namespace qkv::plot {

inline constexpr double kSwatch = 16;  // how long the sign beside a name is

// The axis that holds these values; a constant gets room around it.
Axis fitted_y(double low, double high);
// From the first to the last of all points, at least to last_x; ten long at
// least where all are whole numbers. A log axis begins at 1 or later.
Axis fitted_x(const std::vector<std::span<const Point>>& series, double last_x,
              bool log);

// What may not be drawn: throws naming `operation`.
void check_width(std::string_view operation, double width_mm);
void check_points(std::string_view operation, std::span<const Point> points);

Path polyline(std::span<const Column> columns, const Axis& y);
const Point* last_finite(std::span<const Point> points);

class Chart {
 public:
  // Draws what stands before a name, kSwatch wide, its middle at y.
  using Swatch = std::function<void(Drawing&, double x, double y)>;

  Chart(const std::string& title, const std::string& about, double width_mm,
        const Axis& x, const Axis& y);

  // A name for what ends at `end` (not finite: none). A hairline joins them
  // where they are apart, unless joined is false.
  void name(const Point& end, std::string text, Swatch swatch,
            bool joined = true);
  void name_levels(const std::vector<Level>& levels);

  // All names are known: decides where the plot is and draws its axes.
  // above: the line under the title.
  void draw_axes(const std::string& above, const std::string& x_name);
  void draw_levels(const std::vector<Level>& levels);
  void draw_names();
  Picture finish() &&;

  Drawing& drawing() { return drawing_; }
  const Axis& x() const { return x_; }  // after draw_axes: also places
  const Axis& y() const { return y_; }

 private:
  struct Label {
    Point end;
    std::string text;
    Swatch swatch;
    bool joined;
    double y = 0, line_x = 0, line_y = 0;
  };
  void spread();

  std::string title_;
  Axis x_, y_;
  Drawing drawing_;
  std::vector<Label> labels_;
};

}  // namespace qkv::plot
