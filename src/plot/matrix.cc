#include "plot/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "plot/axis.h"
#include "plot/number.h"
#include "plot/theme.h"

namespace qkv::plot {
namespace {

constexpr int kLabelColumns = 12;  // the longest label
constexpr double kNumberSize = 6;
constexpr double kFineCell = 2;  // below it, fewer shades are drawn

// A fine cell shows 32 shades instead of 256: equal neighbours then merge.
int shade(int index, double cell) {
  return index < 0 || cell >= kFineCell ? index : index * 31 / 255 * 255 / 31;
}

}  // namespace

double Side::depth(double cell) const {
  return cell >= upright ? 13 : widest + 6;
}

// One path a colour, equal neighbours of a row merged.
void draw_cells(Svg& svg, const MatrixPlace& place, const Cells& cells) {
  const auto [x, y, cell] = place;
  std::map<int, std::string> paths;
  for (int row = 0; row < cells.rows; ++row)
    for (int begin = 0, end = 0; begin < cells.columns; begin = end) {
      const int index = shade(cells.at(row, begin), cell);
      end = begin + 1;
      while (end < cells.columns && shade(cells.at(row, end), cell) == index)
        ++end;
      if (index == kHiddenCell) continue;
      auto out = std::back_inserter(paths[index]);
      if (index == kBadCell)
        for (int column = begin; column < end; ++column)
          fmt::format_to(out, "M{}.2 {}.2l.6 .6m0 -.6l-.6 .6", column, row);
      else
        fmt::format_to(out, "M{} {}h{}v1h-{}z", begin, row, end - begin,
                       end - begin);
    }
  // The thin stroke closes the seams that renderers leave between areas.
  svg.open_group(
      fmt::format("transform=\"translate({} {}) scale({:.4g})\" "
                  "stroke-width=\"0.03\"",
                  coordinate(x), coordinate(y), cell));
  for (const auto& [index, d] : paths) {
    if (index == kBadCell) {
      svg.path(d, fmt::format("stroke=\"{}\" stroke-width=\"0.14\"", kBad));
    } else {
      const std::string colour = hex(sequential(Ground::light)[index]);
      svg.path(d, fmt::format("fill=\"{0}\" stroke=\"{0}\"", colour));
    }
  }
  svg.close_group();
  svg.rect(x, y, cells.columns * cell, cells.rows * cell, "none",
           fmt::format("stroke=\"{}\" stroke-width=\"0.5\"", kRule));
}

void draw_legend(Svg& svg, double x, double y, Quantity quantity, bool bad) {
  const Scale& scale = scale_of(quantity);
  svg.text(x, y + 7, scale.name, {});
  // Each step reaches to the end, under the next: no seams.
  constexpr int kSteps = 64;
  for (int i = 0; i < kSteps; ++i) {
    const double from = i * kRampWidth / kSteps;
    svg.rect(x + from, y + 10, kRampWidth - from, 6,
             hex(sequential(Ground::light)[i * 255 / (kSteps - 1)]));
  }
  for (const ScaleTick& tick : scale.ticks) {
    const double at = x + tick.at * kRampWidth;
    svg.line(at, y + 16, at, y + 18, kEdge, 0.5);
    svg.text(at, y + 24.5, tick.text,
             {.size = 6,
              .anchor = tick.at == 0   ? Anchor::start
                        : tick.at == 1 ? Anchor::end
                                       : Anchor::middle,
              .fill = kInk3});
  }
  const double right = x + kRampWidth + 10;
  svg.rect(right, y + 10, 6, 6, kPaper,
           fmt::format("stroke=\"{}\" stroke-width=\"0.5\"", kEdge));
  svg.text(right + 9, y + 15.5, "masked", {});
  if (!bad) return;
  svg.path(fmt::format("M{0} {1}l4 4m0 -4l-4 4", coordinate(right + 1),
                       coordinate(y + 1.5)),
           fmt::format("stroke=\"{}\"", kBad));
  svg.text(right + 9, y + 6, "NaN", {.fill = kBad, .bold = true});
}
Side side_of(const Attention& attention, bool queries) {
  Side side;
  double before = 0;
  const int n = queries ? attention.queries : attention.keys;
  for (int i = 0; i < n; ++i) {
    side.labels.push_back(queries ? query_label(attention, i, kLabelColumns)
                                  : key_label(attention, i, kLabelColumns));
    const std::string& label = side.labels.back();
    const double width = mono_width(label, kTextSize);
    side.widest = std::max(side.widest, width);
    side.upright = std::max(side.upright, (width + before) / 2 + 1.5);
    before = width;
  }
  return side;
}

void label_rows(Svg& svg, const MatrixPlace& place, const Side& side) {
  const auto [x, y, cell] = place;
  for (std::size_t i = 0; i < side.labels.size(); ++i)
    svg.text(x - 3, y + (i + 0.5) * cell + 2.5, side.labels[i],
             {.anchor = Anchor::end, .fill = kInk, .mono = true});
}

void label_columns(Svg& svg, double x, double y, double cell,
                   const Side& side) {
  for (std::size_t i = 0; i < side.labels.size(); ++i) {
    const double middle = x + (i + 0.5) * cell;
    if (cell >= side.upright)
      svg.text(middle, y + 9, side.labels[i],
               {.anchor = Anchor::middle, .fill = kInk, .mono = true});
    else
      svg.text(
          middle + 2.5, y + 3, side.labels[i],
          {.anchor = Anchor::end, .fill = kInk, .mono = true, .turn = -90});
  }
}

void label_positions(Svg& svg, const MatrixPlace& place,
                     const Attention& attention, const Cells& cells) {
  const auto [x, y, cell] = place;
  const double queries = attention.queries, keys = attention.keys;
  const double right = x + keys * cell / cells.pool;
  const double bottom = y + queries * cell / cells.pool;
  const Axis rows = {0, queries, y, bottom};
  const Axis columns = {0, keys, x, right};
  for (const double value : ticks(rows, 30).values) {
    svg.line(x - 3, rows.at(value), x, rows.at(value), kEdge, 0.5);
    svg.text(x - 5, rows.at(value) + 2.5, count_text(value),
             {.anchor = Anchor::end, .fill = kInk3});
  }
  for (const double value : ticks(columns, 30).values) {
    svg.line(columns.at(value), bottom, columns.at(value), bottom + 3, kEdge,
             0.5);
    svg.text(columns.at(value), bottom + 10.5, count_text(value),
             {.anchor = Anchor::middle, .fill = kInk3});
  }
}

void draw_numbers(Svg& svg, const MatrixPlace& place,
                  const Attention& attention, int layer, int head,
                  const Cells& cells) {
  const auto [x, y, cell] = place;
  if (cells.pool > 1 || cell < 2 * kNumberSize) return;
  for (int q = 0; q < cells.rows; ++q)
    for (int k = 0; k < cells.columns; ++k) {
      const int index = cells.at(q, k);
      if (index < 0) continue;
      const float value = value_at(attention, layer, head, q, k);
      const std::string number = attention.quantity == Quantity::weights
                                     ? cell_text(value)
                                     : score_text(value);
      if (sans_width(number, kNumberSize) > cell - 2) continue;
      svg.text(
          x + (k + 0.5) * cell, y + (q + 0.5) * cell + 2.1, number,
          {.size = kNumberSize,
           .anchor = Anchor::middle,
           .fill = text_on(Ground::light, index) == Rgb{0, 0, 0} ? "#000000"
                                                                 : "#ffffff"});
    }
}

}  // namespace qkv::plot
