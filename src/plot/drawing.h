// What a picture is made of: a list of shapes, lengths in points, y running
// down. A picture is composed once; svg.cc and png.cc write the same list out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plot/theme.h"
#include "qkv/plot.h"

namespace qkv::plot {

inline constexpr double kPointsPerMm = 72 / 25.4;

struct Style {
  std::optional<Rgb> fill;
  std::optional<Rgb> stroke;
  double width = 1;  // of the stroke
  Dash dash = {};
  double opacity = 1;
};
inline Style filled(Rgb colour) { return {.fill = colour}; }
inline Style stroked(Rgb colour, double width, const Dash& dash = {}) {
  return {.stroke = colour, .width = width, .dash = dash};
}

struct Path {
  enum Kind { move, line, close };
  struct Step {
    Kind kind;
    double x, y;
  };
  std::vector<Step> steps;

  // The first point begins the path.
  Path& to(double x, double y) {
    steps.push_back({steps.empty() ? move : line, x, y});
    return *this;
  }
  Path& begin(double x, double y) {
    steps.push_back({move, x, y});
    return *this;
  }
  Path& end() {
    steps.push_back({close, 0, 0});
    return *this;
  }
};

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = kTextSize;
  Anchor anchor = Anchor::start;
  Rgb fill = kInk2;
  bool mono = false;
  bool bold = false;
  double turn = 0;  // degrees about (x, y), clockwise
};

struct Rect {
  double x, y, width, height;
  Style style;
};
struct Line {
  double x1, y1, x2, y2;
  Style style;
};
struct Circle {
  double x, y, radius;
  Style style;
};
struct Outline {
  Path path;
  Style style;
};
// The cells of a matrix: paths whose unit is one cell, the origin at (x, y).
struct CellGroup {
  double x, y, cell;
  std::vector<Outline> paths;
};
// The baseline begins (or is centred, or ends) at (x, y).
struct Text {
  double x, y;
  std::string text;
  TextStyle style;
};
using Shape = std::variant<Rect, Line, Circle, Outline, CellGroup, Text>;

class Drawing {
 public:
  // On an opaque ground: ink must stay readable where a viewer is dark.
  Drawing(double width, double height, std::string title, std::string about);

  void rect(double x, double y, double width, double height, Style style);
  void line(double x1, double y1, double x2, double y2, Style style);
  void circle(double x, double y, double radius, Style style);
  void path(Path path, Style style);
  void cells(CellGroup group);
  void text(double x, double y, std::string text, const TextStyle& style);
  // A picture's heading, cut with an ellipsis where it would be too wide.
  void heading(double x, double y, double width, std::string_view heading);

  // All of another drawing, its origin at (x, y).
  void append(const Drawing& other, double x, double y);

  double width() const { return width_; }
  double height() const { return height_; }
  const std::string& title() const { return title_; }
  const std::string& about() const { return about_; }
  const std::vector<Shape>& shapes() const { return shapes_; }

 private:
  double width_, height_;
  std::string title_, about_;
  std::vector<Shape> shapes_;
};

Picture picture_of(Drawing drawing);

// The width of a line set in the sans face, by DejaVu Sans: among the faces of
// kSans the widest.
double sans_width(std::string_view text, double size);
// And in the fixed-width face.
double mono_width(std::string_view text, double size);

// The two ways out. write_png: `scale` 1 is 96 pixels an inch; throws where the
// picture has too many pixels.
std::string write_svg(const Drawing& drawing);
std::string write_png(const Drawing& drawing, double scale);

}  // namespace qkv::plot
