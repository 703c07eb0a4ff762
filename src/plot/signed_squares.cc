// Hinton's diagram: numbers with signs that can be read in grey.
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plot/drawing.h"
#include "plot/number.h"
#include "qkv/plot_course.h"

namespace qkv::plot {
namespace {

constexpr double kMargin = 4, kCell = 11, kLargest = 10;
constexpr Rgb kPositive = kSeries[0].colour, kNegative = kSeries[1].colour;

// Its middle at (x, y); share: of the largest square's area.
void square(Drawing& drawing, double x, double y, double share, bool positive) {
  const double side = kLargest * std::sqrt(share);
  if (side < 0.2) return;
  if (positive) {
    drawing.rect(x - side / 2, y - side / 2, side, side, filled(kPositive));
    return;
  }
  const double line = std::min(1.0, side / 3);
  const double inner = side - line;
  drawing.rect(x - inner / 2, y - inner / 2, inner, inner,
               {.fill = kPaper, .stroke = kNegative, .width = line});
}

double widest(const std::vector<std::string>& labels) {
  double width = 0;
  for (const std::string& label : labels)
    width = std::max(width, mono_width(label, kTextSize));
  return width;
}

}  // namespace

Picture draw_signed_squares(const SignedSquares& s) {
  const std::size_t rows = s.row_labels.size(),
                    columns = s.column_labels.size();
  if (s.values.empty() || s.values.size() != rows * columns)
    fail_input("[draw_signed_squares] {} values for {} rows and {} columns",
               s.values.size(), rows, columns);
  double largest = 0;
  for (const double value : s.values) {
    if (!std::isfinite(value))
      fail_input("[draw_signed_squares] a value is {}", value);
    largest = std::max(largest, std::abs(value));
  }
  const double left = kMargin + 14 + widest(s.row_labels) + 4;
  const double top =
      kMargin + (s.title.empty() ? 14 : 28) +
      (widest(s.column_labels) > kCell ? widest(s.column_labels) : kTextSize);
  const double right = left + static_cast<double>(columns) * kCell;
  const double bottom = top + static_cast<double>(rows) * kCell;
  const double width = std::max(right + kMargin, 230.0);
  Drawing drawing(width, bottom + 24, s.title, s.about);
  drawing.heading(kMargin, kMargin + kTitleSize, width - 2 * kMargin, s.title);
  drawing.text(left, kMargin + (s.title.empty() ? 8 : 22), s.column_name, {});
  drawing.text(kMargin + 7, (top + bottom) / 2, s.row_name,
               {.anchor = Anchor::middle, .turn = -90});
  drawing.rect(left, top, right - left, bottom - top, stroked(kRule, 0.5));
  const bool upright = widest(s.column_labels) <= kCell;
  for (std::size_t c = 0; c < columns; ++c) {
    const double x = left + (static_cast<double>(c) + 0.5) * kCell;
    if (upright)
      drawing.text(x, top - 3, s.column_labels[c],
                   {.anchor = Anchor::middle, .fill = kInk, .mono = true});
    else
      drawing.text(x + 2.5, top - 3, s.column_labels[c],
                   {.fill = kInk, .mono = true, .turn = -90});
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const double y = top + (static_cast<double>(r) + 0.5) * kCell;
    drawing.text(left - 3, y + 2.5, s.row_labels[r],
                 {.anchor = Anchor::end, .fill = kInk, .mono = true});
    for (std::size_t c = 0; c < columns; ++c)
      if (const double value = s.values[r * columns + c]; value != 0)
        square(drawing, left + (static_cast<double>(c) + 0.5) * kCell, y,
               std::abs(value) / largest, value > 0);
  }
  const double y = bottom + 14;
  square(drawing, left + kLargest / 2, y, 1, true);
  const std::string much = score_text(largest);
  drawing.text(left + kLargest + 4, y + 2.5, much, {});
  const double second = left + kLargest + 4 + sans_width(much, kTextSize) + 14;
  square(drawing, second + kLargest / 2, y, 1, false);
  drawing.text(second + kLargest + 4, y + 2.5,
               "\u2212" + much + "; the area is the number", {});
  return picture_of(std::move(drawing));
}

}  // namespace qkv::plot
