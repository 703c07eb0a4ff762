#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "core/check.h"
#include "plot/axis.h"
#include "plot/cells.h"
#include "plot/number.h"
#include "plot/svg.h"
#include "plot/token_label.h"

namespace qkv::plot {
namespace {

constexpr double kColumnWidth = 85 * kPointsPerMm;  // of a page
constexpr double kPageWidth = 178 * kPointsPerMm;
constexpr double kMargin = 4;
constexpr double kHeader = 27;  // title and the line below it
constexpr double kLegendWidth = 100, kLegendHeight = 26;
constexpr double kLabelPitch = 7;  // the closest that labels may stand
constexpr int kLabelColumns = 12;  // the longest label
constexpr double kLargestCell = 24;
constexpr double kNumberSize = 6;
constexpr double kFineCell = 2;  // below it, fewer shades are drawn

// A fine cell shows 32 shades instead of 256: equal neighbours then merge.
int shade(int index, double cell) {
  return index < 0 || cell >= kFineCell ? index : index * 31 / 255 * 255 / 31;
}

// The visible cells as one path a colour, equal neighbours of a row merged.
void draw_cells(Svg& svg, double x, double y, double cell, const Cells& cells) {
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
    const double from = i * kLegendWidth / kSteps;
    svg.rect(x + from, y + 10, kLegendWidth - from, 6,
             hex(sequential(Ground::light)[i * 255 / (kSteps - 1)]));
  }
  for (const ScaleTick& tick : scale.ticks) {
    const double at = x + tick.at * kLegendWidth;
    svg.line(at, y + 16, at, y + 18, kEdge, 0.5);
    svg.text(at, y + 24.5, tick.text,
             {.size = 6,
              .anchor = tick.at == 0   ? Anchor::start
                        : tick.at == 1 ? Anchor::end
                                       : Anchor::middle,
              .fill = kInk3});
  }
  const double right = x + kLegendWidth + 10;
  svg.rect(right, y + 10, 6, 6, kPaper,
           fmt::format("stroke=\"{}\" stroke-width=\"0.5\"", kEdge));
  svg.text(right + 9, y + 15.5, "masked", {});
  if (!bad) return;
  svg.path(fmt::format("M{0} {1}l4 4m0 -4l-4 4", coordinate(right + 1),
                       coordinate(y + 1.5)),
           fmt::format("stroke=\"{}\"", kBad));
  svg.text(right + 9, y + 6, "NaN", {.fill = kBad, .bold = true});
}
constexpr double kWholeLegend = kLegendWidth + 48;

bool holds_nan(const Attention& attention) {
  return std::any_of(attention.values.begin(), attention.values.end(),
                     [](float value) { return std::isnan(value); });
}

// The labels of one side of a matrix, or positions where they do not fit.
struct Side {
  std::vector<std::string> labels;
  double widest = 0;   // in points
  bool narrow = true;  // none wider than a character or two
};

Side side_of(const Attention& attention, bool queries) {
  Side side;
  const int n = queries ? attention.queries : attention.keys;
  for (int i = 0; i < n; ++i) {
    side.labels.push_back(queries ? query_label(attention, i, kLabelColumns)
                                  : key_label(attention, i, kLabelColumns));
    const std::string& label = side.labels.back();
    side.widest = std::max(side.widest, mono_width(label, kTextSize));
    side.narrow = side.narrow && display_columns(label) <= 2;
  }
  return side;
}

// Tokens left of the rows of a matrix whose top left corner is (x, y).
void label_rows(Svg& svg, double x, double y, double cell, const Side& side) {
  for (std::size_t i = 0; i < side.labels.size(); ++i)
    svg.text(x - 3, y + (i + 0.5) * cell + 2.5, side.labels[i],
             {.anchor = Anchor::end, .fill = kInk, .mono = true});
}

// Tokens under its columns, y being the matrix's lower edge.
void label_columns(Svg& svg, double x, double y, double cell,
                   const Side& side) {
  for (std::size_t i = 0; i < side.labels.size(); ++i) {
    const double middle = x + (i + 0.5) * cell;
    if (side.narrow && cell >= 9)
      svg.text(middle, y + 9, side.labels[i],
               {.anchor = Anchor::middle, .fill = kInk, .mono = true});
    else
      svg.text(
          middle + 2.5, y + 3, side.labels[i],
          {.anchor = Anchor::end, .fill = kInk, .mono = true, .turn = -90});
  }
}

// Positions along both sides of a matrix too fine for tokens.
void label_positions(Svg& svg, double x, double y, double cell,
                     const Cells& cells, int queries, int keys) {
  const double right = x + keys * cell / cells.pool;
  const double bottom = y + queries * cell / cells.pool;
  const Axis rows = {0, static_cast<double>(queries), y, bottom, false};
  const Axis columns = {0, static_cast<double>(keys), x, right, false};
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

void draw_numbers(Svg& svg, double x, double y, double cell,
                  const Attention& attention, int layer, int head,
                  const Cells& cells) {
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

std::string pooled_note(const Cells& cells) {
  return cells.pool == 1
             ? ""
             : fmt::format("; a cell is the largest of {0} × {0}", cells.pool);
}

// What is drawn when there is nothing to draw.
std::string no_tokens(const Attention& attention) {
  Svg svg(kColumnWidth, 48, attention.title, attention.about);
  svg.title(kMargin, kMargin + kTitleSize, kColumnWidth - 2 * kMargin,
            attention.title);
  svg.text(kMargin, kHeader, "no tokens", {.fill = kInk3});
  return std::move(svg).finish();
}

void draw_header(Svg& svg, double width, const Attention& attention,
                 std::string_view line) {
  svg.title(kMargin, kMargin + kTitleSize, width - 2 * kMargin,
            attention.title);
  svg.text(kMargin, kMargin + kTitleSize + 11, line, {});
}

}  // namespace

std::string attention_head_svg(const Attention& attention, int layer,
                               int head) {
  check_attention("attention_head_svg", attention);
  if (layer < 0 || layer >= attention.layers || head < 0 ||
      head >= attention.heads)
    fail_input("[attention_head_svg] layer {}, head {} of {} x {}", layer, head,
               attention.layers, attention.heads);
  if (attention.values.empty()) return no_tokens(attention);
  const Side rows = side_of(attention, true),
             columns = side_of(attention, false);
  const double left_tokens = kMargin + rows.widest + 4;
  const int longest = std::max(attention.queries, attention.keys);

  // A column of the page while numbers fit into the cells, else its width.
  const bool small =
      (kColumnWidth - left_tokens - kMargin) / longest >= kNumberSize * 2;
  const double width = small ? kColumnWidth : kPageWidth;
  const bool tokens = (width - left_tokens - kMargin) / longest >= kLabelPitch;
  const double left = tokens ? left_tokens : kMargin + 24;
  const Cells cells = cells_of(attention, layer, head, 256);
  const double cell =
      std::min(kLargestCell,
               (width - left - kMargin) / std::max(cells.rows, cells.columns));
  const double matrix_width = cell * cells.columns;
  const double matrix_height = cell * cells.rows;
  const bool upright = columns.narrow && cell >= 9;
  const double below = !tokens ? 14 : upright ? 13 : columns.widest + 6;

  // The legend stands in the triangle that a causal mask leaves empty.
  const double beside =
      matrix_width - std::ceil((kLegendHeight + 8) / cell) * cell;
  const bool inside = attention.causal && attention.queries == attention.keys &&
                      beside >= kWholeLegend + 6;
  const double height = kHeader + matrix_height + below +
                        (inside ? 0 : kLegendHeight + 4) + kMargin;

  Svg svg(width, height, attention.title, attention.about);
  draw_header(svg, width, attention,
              fmt::format("layer {}, head {}; a row shows what its token looks "
                          "at{}",
                          attention.first_layer + layer,
                          attention.first_head + head, pooled_note(cells)));
  draw_cells(svg, left, kHeader, cell, cells);
  if (cells.pool == 1 && cell >= 2 * kNumberSize)
    draw_numbers(svg, left, kHeader, cell, attention, layer, head, cells);
  if (tokens) {
    label_rows(svg, left, kHeader, cell, rows);
    label_columns(svg, left, kHeader + matrix_height, cell, columns);
  } else {
    label_positions(svg, left, kHeader, cell, cells, attention.queries,
                    attention.keys);
  }
  const bool bad = holds_nan(attention);
  if (inside)
    draw_legend(svg, left + matrix_width - kWholeLegend + 4, kHeader + 6,
                attention.quantity, bad);
  else
    draw_legend(svg, left, kHeader + matrix_height + below + 2,
                attention.quantity, bad);
  return std::move(svg).finish();
}

std::string attention_grid_svg(const Attention& attention) {
  check_attention("attention_grid_svg", attention);
  if (attention.values.empty()) return no_tokens(attention);
  constexpr double kGap = 5, kHeadNumbers = 10, kLargestPicture = 110,
                   kSmallestPicture = 14;
  const double layer_width =
      sans_width(
          fmt::format("layer {}", attention.first_layer + attention.layers - 1),
          kTextSize) +
      6;
  const Side rows = side_of(attention, true),
             columns = side_of(attention, false);
  const int longest = std::max(attention.queries, attention.keys);

  // Tokens along the outer sides where they fit, else the room for pictures.
  const auto picture_beside = [&](double left) {
    return std::clamp((kPageWidth - left - kMargin) / attention.heads - kGap,
                      kSmallestPicture, kLargestPicture);
  };
  double left = kMargin + layer_width + rows.widest + 4;
  const bool tokens = picture_beside(left) / longest >= kLabelPitch;
  if (!tokens) left = kMargin + layer_width;
  const double picture = picture_beside(left);

  std::vector<Cells> heads;
  for (int layer = 0; layer < attention.layers; ++layer)
    for (int head = 0; head < attention.heads; ++head)
      heads.push_back(cells_of(attention, layer, head,
                               std::max(8, static_cast<int>(0.8 * picture))));
  const double cell = std::min(
      kLargestCell, picture / std::max(heads[0].rows, heads[0].columns));
  const double picture_width =
      std::max(cell * heads[0].columns, kSmallestPicture);
  const double picture_height =
      std::max(cell * heads[0].rows, kSmallestPicture);
  const double top = kHeader + kHeadNumbers;
  const double below = !tokens                       ? 6
                       : columns.narrow && cell >= 9 ? 15
                                                     : columns.widest + 8;
  const double width = std::max(
      kColumnWidth, left + attention.heads * (picture_width + kGap) + kMargin);
  const double bottom = top + attention.layers * (picture_height + kGap) - kGap;

  Svg svg(width, bottom + below + kLegendHeight + kMargin, attention.title,
          attention.about);
  draw_header(svg, width, attention,
              fmt::format("a row of a picture shows what its token looks at{}",
                          pooled_note(heads[0])));
  // "head 3" where it fits, else "3" behind a first "head".
  const double name_width = sans_width("head 00", kTextSize);
  const bool named = picture_width >= name_width;
  if (!named) svg.text(left - 4, top - 4, "head", {.anchor = Anchor::end});
  for (int head = 0; head < attention.heads; ++head)
    svg.text(
        left + head * (picture_width + kGap) + picture_width / 2, top - 4,
        fmt::format("{}{}", named ? "head " : "", attention.first_head + head),
        {.anchor = Anchor::middle});
  for (int layer = 0; layer < attention.layers; ++layer) {
    const double y = top + layer * (picture_height + kGap);
    svg.text(kMargin, y + picture_height / 2 + 2.5,
             fmt::format("layer {}", attention.first_layer + layer), {});
    if (tokens) label_rows(svg, left, y, cell, rows);
    for (int head = 0; head < attention.heads; ++head)
      draw_cells(
          svg, left + head * (picture_width + kGap), y, cell,
          heads[static_cast<std::size_t>(layer) * attention.heads + head]);
  }
  if (tokens)
    for (int head = 0; head < attention.heads; ++head)
      label_columns(svg, left + head * (picture_width + kGap), bottom, cell,
                    columns);
  draw_legend(svg, left, bottom + below, attention.quantity,
              holds_nan(attention));
  return std::move(svg).finish();
}

}  // namespace qkv::plot
