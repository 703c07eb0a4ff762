// The bigram lecture's map of counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plot/matrix.h"
#include "plot/number.h"
#include "plot/token_label.h"
#include "qkv/plot_course.h"

namespace qkv::plot {
namespace {

constexpr double kMargin = 4, kNamedCell = 20, kFineCell = 3;
constexpr double kPairSize = 6.5, kCountSize = 5;

struct Shaded {
  Cells cells;
  std::int64_t largest = 0;
};

Shaded shaded(const PairCounts& pairs) {
  const std::size_t n = pairs.tokens.size();
  if (n == 0 || pairs.counts.size() != n * n)
    fail_input("[draw_pair_counts] {} counts for {} tokens; they need {}",
               pairs.counts.size(), n, n * n);
  Shaded result;
  for (std::size_t i = 0; i < n * n; ++i) {
    if (pairs.counts[i] < 0)
      fail_input("[draw_pair_counts] the count of {} is {}",
                 pairs.tokens[i / n] + pairs.tokens[i % n], pairs.counts[i]);
    result.largest = std::max(result.largest, pairs.counts[i]);
  }
  result.cells.rows = result.cells.columns = static_cast<int>(n);
  const auto most =
      static_cast<double>(std::max<std::int64_t>(result.largest, 1));
  for (const std::int64_t count : pairs.counts)
    result.cells.index.push_back(static_cast<int>(
        std::lround(255 * std::sqrt(static_cast<double>(count) / most))));
  return result;
}

// No wider than its cell: large counts are set smaller.
void write_cell(Drawing& drawing, double x, double y, const std::string& pair,
                std::int64_t count, int shade) {
  const Rgb ink = text_on(Ground::light, shade);
  const auto fitted = [](const std::string& text, double size) {
    return std::min(size, size * (kNamedCell - 2) / mono_width(text, size));
  };
  const std::string number = std::to_string(count);
  drawing.text(x + kNamedCell / 2, y + 9, pair,
               {.size = fitted(pair, kPairSize),
                .anchor = Anchor::middle,
                .fill = ink,
                .mono = true});
  drawing.text(x + kNamedCell / 2, y + 16.5, number,
               {.size = fitted(number, kCountSize),
                .anchor = Anchor::middle,
                .fill = ink,
                .mono = true});
}

void draw_scale(Drawing& drawing, double x, double y, std::int64_t largest) {
  drawing.text(x, y + 5.5, "count 0", {});
  const double from = x + sans_width("count 0", kTextSize) + 5;
  draw_ramp(drawing, from, y);
  drawing.text(from + kRampWidth + 5, y + 5.5,
               count_text(static_cast<double>(largest)) +
                   ", the most; shaded by the square root",
               {});
}

}  // namespace

Picture draw_pair_counts(const PairCounts& pairs) {
  const auto [cells, largest] = shaded(pairs);
  const int n = cells.rows;
  const bool named = n <= kMostNamedPairs;
  const double cell = named ? kNamedCell : kFineCell;
  const double left = kMargin + (named ? 22 : 10);
  const double top = kMargin + 33;
  const double side = n * cell;
  const double width = std::max(left + side + kMargin, 270.0);
  Drawing drawing(width, top + side + 36 + kMargin, pairs.title, pairs.about);
  drawing.heading(kMargin, kMargin + kTitleSize, width - 2 * kMargin,
                  pairs.title);
  drawing.text(left, top - 13, "column: the token that followed", {});
  drawing.text(kMargin + 6, top + side / 2, "row: the token before",
               {.anchor = Anchor::middle, .turn = -90});
  draw_cells(drawing, {left, top, cell}, cells);
  if (named) {
    for (int i = 0; i < n; ++i) {
      const std::string& name = pairs.tokens[i];
      const TextStyle style{.size = std::min(7.0, 7 * 11 / mono_width(name, 7)),
                            .anchor = Anchor::middle,
                            .fill = kInk,
                            .mono = true,
                            .bold = true};
      drawing.text(left + (i + 0.5) * cell, top - 3, name, style);
      drawing.text(left - 7, top + (i + 0.5) * cell + 2.5, name, style);
    }
    for (int row = 0; row < n; ++row)
      for (int column = 0; column < n; ++column)
        write_cell(drawing, left + column * cell, top + row * cell,
                   pairs.tokens[row] + pairs.tokens[column],
                   pairs.counts[static_cast<std::size_t>(row) * n + column],
                   cells.at(row, column));
  }
  draw_scale(drawing, left, top + side + 12, largest);
  return picture_of(std::move(drawing));
}

}  // namespace qkv::plot
