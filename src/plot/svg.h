// Writing SVG: elements appended to one string, lengths in points.
#pragma once

#include <string>
#include <string_view>

#include "plot/theme.h"

namespace qkv::plot {

// XML text: markup escaped, characters that XML forbids replaced by U+FFFD.
std::string escape(std::string_view text);

// A coordinate with at most two decimals: 12.5, 3, −0.25 as "-0.25".
std::string coordinate(double value);

inline constexpr double kPointsPerMm = 72 / 25.4;

// The width of a line set in the sans face, by Helvetica's own widths.
double sans_width(std::string_view text, double size);
// And in the fixed-width face.
double mono_width(std::string_view text, double size);

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = kTextSize;
  Anchor anchor = Anchor::start;
  std::string_view fill = kInk2;
  bool mono = false;
  bool bold = false;
  double turn = 0;  // degrees about (x, y)
};

class Svg {
 public:
  // An opaque ground: ink must stay readable where a viewer is dark.
  Svg(double width, double height, std::string_view title,
      std::string_view about);

  // `attributes`: what else the element says, `stroke-width="0.5" …`.
  void rect(double x, double y, double width, double height,
            std::string_view fill, std::string_view attributes = "");
  void line(double x1, double y1, double x2, double y2, std::string_view stroke,
            double width, std::string_view attributes = "");
  void path(std::string_view d, std::string_view attributes);
  void open_group(std::string_view attributes);
  void close_group();
  void circle(double x, double y, double radius, std::string_view attributes);
  // The baseline begins (or is centred, or ends) at (x, y).
  void text(double x, double y, std::string_view text, const TextStyle& style);

  // A picture's title, cut with an ellipsis where it would be too wide.
  void title(double x, double y, double width, std::string_view title);

  std::string finish() &&;

 private:
  std::string out_;
};

}  // namespace qkv::plot
