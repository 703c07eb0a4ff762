#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plot/drawing.h"
#include "plot/matrix.h"

namespace qkv::plot {
namespace {

constexpr double kColumnWidth = 85 * kPointsPerMm;  // of a page
constexpr double kPageWidth = 178 * kPointsPerMm;
constexpr double kMargin = 4;
constexpr double kHeader = 30;  // title and the line below it
constexpr double kLargestCell = 24;
constexpr double kNumberedCell = 12;  // the smallest that holds a number
constexpr int kFinestHead = 256;      // cells either way of one head

bool holds_nan(const Attention& attention) {
  return std::any_of(attention.values.begin(), attention.values.end(),
                     [](float value) { return std::isnan(value); });
}

void draw_header(Drawing& drawing, double width, const Attention& attention,
                 const std::string& line) {
  drawing.heading(kMargin, kMargin + kTitleSize, width - 2 * kMargin,
                  attention.title);
  drawing.text(kMargin, kMargin + kTitleSize + 11, line, {});
}

std::string pooled_note(const Cells& cells) {
  return cells.pool == 1
             ? ""
             : fmt::format("; a cell is the largest of {0} × {0}", cells.pool);
}

// What is drawn when there is nothing to draw.
Picture no_tokens(const Attention& attention) {
  Drawing drawing(kColumnWidth, 36, attention.title, attention.about);
  draw_header(drawing, kColumnWidth, attention, "no tokens");
  return picture_of(std::move(drawing));
}

// The small pictures of a grid: all of one size, at even distances.
struct Grid {
  static constexpr double kGap = 5, kHeadNumbers = 10;
  static constexpr double kLargest = 110, kSmallest = 14;

  double left, top, cell, width, height;  // of one picture
  bool tokens;  // along the outer sides, where they fit
  int most;     // cells either way of a picture

  Grid(const Attention& attention, const Side& rows) {
    double names = 0;
    for (int row = 0; row < attention.layers; ++row)
      names = std::max(names, sans_width(row_name(attention, row), kTextSize));
    names += kMargin + 6;
    const auto size_beside = [&](double beside) {
      return std::clamp(
          (kPageWidth - beside - kMargin) / attention.heads - kGap, kSmallest,
          kLargest);
    };
    const int longest = std::max(attention.queries, attention.keys);
    const double with_tokens = names + rows.widest + 4;
    tokens = size_beside(with_tokens) / longest >= kLabelPitch;
    left = tokens ? with_tokens : names;
    top = kHeader + kHeadNumbers;
    const double size = size_beside(left);
    most = std::max(8, static_cast<int>(0.8 * size));
    const Cells cells = cells_of(attention, 0, 0, most);
    cell = std::min(kLargestCell, size / std::max(cells.rows, cells.columns));
    width = std::max(cell * cells.columns, kSmallest);
    height = std::max(cell * cells.rows, kSmallest);
  }

  double x(int head) const { return left + head * (width + kGap); }
  double y(int layer) const { return top + layer * (height + kGap); }
};

void name_heads(Drawing& drawing, const Grid& grid,
                const Attention& attention) {
  const auto name = [&](int head) {
    return attention.column_names.empty()
               ? fmt::format("head {}", attention.first_head + head)
               : attention.column_names[head];
  };
  // "head 3" where it fits, else "3" behind a first "head".
  bool whole = true;
  for (int head = 0; head < attention.heads; ++head)
    whole =
        whole && grid.width + Grid::kGap >= sans_width(name(head), kTextSize);
  const auto last_word = [](const std::string& text) {
    return text.substr(text.find_last_of(' ') + 1);
  };
  if (!whole)
    drawing.text(grid.left - 4, grid.top - 4,
                 name(0).substr(0, name(0).find(' ')), {.anchor = Anchor::end});
  for (int head = 0; head < attention.heads; ++head)
    drawing.text(grid.x(head) + grid.width / 2, grid.top - 4,
                 whole ? name(head) : last_word(name(head)),
                 {.anchor = Anchor::middle});
}

// A frame of ink around a head, its name in the corner that a causal mask
// leaves empty.
void draw_mark(Drawing& drawing, const Grid& grid, const Attention& attention,
               const Mark& mark) {
  const int layer = mark.layer - attention.first_layer;
  const int head = mark.head - attention.first_head;
  if (layer < 0 || head < 0 || layer >= attention.layers ||
      head >= attention.heads)
    return;
  const double x = grid.x(head), y = grid.y(layer);
  drawing.rect(x - 1, y - 1, grid.width + 2, grid.height + 2,
               stroked(kInk, 1.5));
  if (!mark.name.empty())
    drawing.text(x + grid.width - 3, y + 9, mark.name,
                 {.anchor = Anchor::end, .fill = kInk, .bold = true});
}

}  // namespace

Picture attention_head(const Attention& attention, int layer, int head) {
  check_attention("attention_head", attention);
  if (layer < 0 || layer >= attention.layers || head < 0 ||
      head >= attention.heads)
    fail_input("[attention_head] layer {}, head {} of {} x {}", layer, head,
               attention.layers, attention.heads);
  if (attention.values.empty()) return no_tokens(attention);
  const Side rows = side_of(attention, true);
  const Side columns = side_of(attention, false);
  const Cells cells = cells_of(attention, layer, head, kFinestHead);

  // A column of the page while numbers fit into the cells, else all its width.
  const int longest = std::max(attention.queries, attention.keys);
  const double beside = kMargin + rows.widest + 4;
  const auto cell_in = [&](double width) {
    return (width - beside - kMargin) / longest;
  };
  const double width =
      cell_in(kColumnWidth) >= kNumberedCell ? kColumnWidth : kPageWidth;
  const bool tokens = cell_in(width) >= kLabelPitch;
  const double left = tokens ? beside : kMargin + kPositionsWidth;
  const double cell =
      std::min(kLargestCell,
               (width - left - kMargin) / std::max(cells.rows, cells.columns));
  const double right = left + cell * cells.columns;
  const double bottom = kHeader + cell * cells.rows;
  const double below = tokens ? columns.depth(cell) : kPositionsDepth;

  // The legend stands in the triangle that a causal mask leaves empty, where
  // the rows beside it are short enough.
  const double rows_beside = std::ceil((kLegendHeight + 8) / cell) * cell;
  const bool inside = attention.causal && attention.queries == attention.keys &&
                      right - left - rows_beside >= kLegendWidth + 6;
  const double height =
      bottom + below + (inside ? 0 : kLegendHeight + 4) + kMargin;

  Drawing drawing(width, height, attention.title, attention.about);
  draw_header(drawing, width, attention,
              fmt::format("layer {}, head {}; a row shows what its token looks "
                          "at{}",
                          attention.first_layer + layer,
                          attention.first_head + head, pooled_note(cells)));
  const MatrixPlace place = {left, kHeader, cell};
  draw_cells(drawing, place, cells);
  draw_numbers(drawing, place, attention, layer, head, cells);
  if (tokens) {
    label_rows(drawing, place, rows);
    label_columns(drawing, left, bottom, cell, columns);
  } else {
    label_positions(drawing, place, attention, cells);
  }
  const bool bad = holds_nan(attention);
  if (inside)
    draw_legend(drawing, right - kLegendWidth + 4, kHeader + 6,
                attention.quantity, bad);
  else
    draw_legend(drawing, left, bottom + below + 2, attention.quantity, bad);
  return picture_of(std::move(drawing));
}

Picture attention_grid(const Attention& attention) {
  check_attention("attention_grid", attention);
  if (attention.values.empty()) return no_tokens(attention);
  const Side rows = side_of(attention, true);
  const Side columns = side_of(attention, false);
  const Grid grid(attention, rows);
  const double bottom = grid.y(attention.layers) - Grid::kGap;
  const double below = grid.tokens ? columns.depth(grid.cell) + 2 : 6;
  const double width =
      std::max(kColumnWidth, grid.x(attention.heads) + kMargin);

  Drawing drawing(width, bottom + below + kLegendHeight + kMargin,
                  attention.title, attention.about);
  draw_header(
      drawing, width, attention,
      "a row of a picture shows what its token looks at" +
          (grid.tokens ? ""
                       : fmt::format("; {} tokens, the first at the top left",
                                     attention.queries)) +
          pooled_note(cells_of(attention, 0, 0, grid.most)));
  name_heads(drawing, grid, attention);
  for (int layer = 0; layer < attention.layers; ++layer) {
    drawing.text(kMargin, grid.y(layer) + grid.height / 2 + 2.5,
                 row_name(attention, layer), {});
    if (grid.tokens)
      label_rows(drawing, {grid.left, grid.y(layer), grid.cell}, rows);
    for (int head = 0; head < attention.heads; ++head)
      draw_cells(drawing, {grid.x(head), grid.y(layer), grid.cell},
                 cells_of(attention, layer, head, grid.most));
  }
  for (const Mark& mark : attention.marks)
    draw_mark(drawing, grid, attention, mark);
  if (grid.tokens)
    for (int head = 0; head < attention.heads; ++head)
      label_columns(drawing, grid.x(head), bottom, grid.cell, columns);
  draw_legend(drawing, grid.left, bottom + below, attention.quantity,
              holds_nan(attention));
  return picture_of(std::move(drawing));
}

}  // namespace qkv::plot
