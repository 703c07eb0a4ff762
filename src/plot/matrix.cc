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

// In one stroke, so that a path holds one piece a cell.
void add_cross(Path& path, double x, double y) {
  path.begin(x + 0.2, y + 0.2)
      .to(x + 0.8, y + 0.8)
      .to(x + 0.5, y + 0.5)
      .to(x + 0.8, y + 0.2)
      .to(x + 0.2, y + 0.8);
}

}  // namespace

double Side::depth(double cell) const {
  return cell >= upright ? 13 : widest + 6;
}

// One path a colour, equal neighbours of a row merged.
void draw_cells(Drawing& drawing, const MatrixPlace& place,
                const Cells& cells) {
  const auto [x, y, cell] = place;
  std::map<int, Path> paths;
  for (int row = 0; row < cells.rows; ++row)
    for (int begin = 0, end = 0; begin < cells.columns; begin = end) {
      const int index = shade(cells.at(row, begin), cell);
      end = begin + 1;
      while (end < cells.columns && shade(cells.at(row, end), cell) == index)
        ++end;
      if (index == kHiddenCell) continue;
      Path& path = paths[index];
      if (index == kBadCell)
        for (int column = begin; column < end; ++column)
          add_cross(path, column, row);
      else
        path.begin(begin, row)
            .to(end, row)
            .to(end, row + 1)
            .to(begin, row + 1)
            .end();
    }
  CellGroup group{x, y, cell, {}};
  for (auto& [index, path] : paths)
    group.paths.push_back(
        {std::move(path), index == kBadCell
                              ? stroked(kBad, 0.14)
                              : filled(sequential(Ground::light)[index])});
  drawing.cells(std::move(group));
  drawing.rect(x, y, cells.columns * cell, cells.rows * cell,
               stroked(kRule, 0.5));
}

void draw_ramp(Drawing& drawing, double x, double y) {
  // Each step reaches to the end, under the next: no seams.
  constexpr int kSteps = 64;
  for (int i = 0; i < kSteps; ++i) {
    const double from = i * kRampWidth / kSteps;
    drawing.rect(x + from, y, kRampWidth - from, 6,
                 filled(sequential(Ground::light)[i * 255 / (kSteps - 1)]));
  }
}

void draw_legend(Drawing& drawing, double x, double y, Quantity quantity,
                 bool bad) {
  const Scale& scale = scale_of(quantity);
  drawing.text(x, y + 7, std::string(scale.name), {});
  draw_ramp(drawing, x, y + 10);
  for (const ScaleTick& tick : scale.ticks) {
    const double at = x + tick.at * kRampWidth;
    drawing.line(at, y + 16, at, y + 18, stroked(kEdge, 0.5));
    drawing.text(at, y + 24.5, std::string(tick.text),
                 {.size = 6,
                  .anchor = tick.at == 0   ? Anchor::start
                            : tick.at == 1 ? Anchor::end
                                           : Anchor::middle,
                  .fill = kInk3});
  }
  const double right = x + kRampWidth + 10;
  drawing.rect(right, y + 10, 6, 6,
               {.fill = kPaper, .stroke = kEdge, .width = 0.5});
  drawing.text(right + 9, y + 15.5, "masked", {});
  if (!bad) return;
  drawing.path(Path()
                   .begin(right + 1, y + 1.5)
                   .to(right + 5, y + 5.5)
                   .begin(right + 5, y + 1.5)
                   .to(right + 1, y + 5.5),
               stroked(kBad, 1));
  drawing.text(right + 9, y + 6, "NaN", {.fill = kBad, .bold = true});
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

void label_rows(Drawing& drawing, const MatrixPlace& place, const Side& side) {
  const auto [x, y, cell] = place;
  for (std::size_t i = 0; i < side.labels.size(); ++i)
    drawing.text(x - 3, y + (i + 0.5) * cell + 2.5, side.labels[i],
                 {.anchor = Anchor::end, .fill = kInk, .mono = true});
}

void label_columns(Drawing& drawing, double x, double y, double cell,
                   const Side& side) {
  for (std::size_t i = 0; i < side.labels.size(); ++i) {
    const double middle = x + (i + 0.5) * cell;
    if (cell >= side.upright)
      drawing.text(middle, y + 9, side.labels[i],
                   {.anchor = Anchor::middle, .fill = kInk, .mono = true});
    else
      drawing.text(
          middle + 2.5, y + 3, side.labels[i],
          {.anchor = Anchor::end, .fill = kInk, .mono = true, .turn = -90});
  }
}

void label_positions(Drawing& drawing, const MatrixPlace& place,
                     const Attention& attention, const Cells& cells) {
  const auto [x, y, cell] = place;
  const double queries = attention.queries, keys = attention.keys;
  const double right = x + keys * cell / cells.pool;
  const double bottom = y + queries * cell / cells.pool;
  const Axis rows = {0, queries, y, bottom};
  const Axis columns = {0, keys, x, right};
  for (const double value : ticks(rows, 30).values) {
    drawing.line(x - 3, rows.at(value), x, rows.at(value), stroked(kEdge, 0.5));
    drawing.text(x - 5, rows.at(value) + 2.5, count_text(value),
                 {.anchor = Anchor::end, .fill = kInk3});
  }
  for (const double value : ticks(columns, 30).values) {
    drawing.line(columns.at(value), bottom, columns.at(value), bottom + 3,
                 stroked(kEdge, 0.5));
    drawing.text(columns.at(value), bottom + 10.5, count_text(value),
                 {.anchor = Anchor::middle, .fill = kInk3});
  }
}

void draw_numbers(Drawing& drawing, const MatrixPlace& place,
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
      drawing.text(x + (k + 0.5) * cell, y + (q + 0.5) * cell + 2.1, number,
                   {.size = kNumberSize,
                    .anchor = Anchor::middle,
                    .fill = text_on(Ground::light, index)});
    }
}

}  // namespace qkv::plot
