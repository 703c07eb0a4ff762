// A matrix of yes and no.
#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"
#include "plot/chart.h"
#include "plot/drawing.h"
#include "plot/number.h"
#include "qkv/plot_course.h"

namespace qkv::plot {

Picture draw_bit_map(const BitMap& map) {
  check_width("draw_bit_map", map.width_mm);
  if (map.rows < 1 || map.columns < 1 ||
      map.cells.size() != static_cast<std::size_t>(map.rows) * map.columns)
    fail_input("[draw_bit_map] {} cells are not {} x {}", map.cells.size(),
               map.rows, map.columns);
  constexpr double kMargin = 4, kLeft = 16, kHead = 30, kFoot = 16;
  const double width = map.width_mm * kPointsPerMm;
  const double cell = (width - kLeft - kMargin) / map.columns;
  const double height = cell * map.rows;
  Drawing drawing(width, kHead + height + kFoot, map.title, map.about);
  drawing.heading(kMargin, kMargin + kTitleSize, width - 2 * kMargin,
                  map.title);

  // Equal neighbours of a row are one piece.
  Path dark;
  for (int row = 0; row < map.rows; ++row) {
    const auto at = [&](int column) {
      return map.cells[static_cast<std::size_t>(row) * map.columns + column];
    };
    for (int begin = 0, end = 0; begin < map.columns; begin = end) {
      end = begin + 1;
      while (end < map.columns && at(end) == at(begin)) ++end;
      if (!at(begin)) continue;
      dark.begin(begin, row)
          .to(end, row)
          .to(end, row + 1)
          .to(begin, row + 1)
          .end();
    }
  }
  if (!dark.steps.empty())
    drawing.cells({kLeft, kHead, cell, {{std::move(dark), filled(kInk)}}});
  drawing.rect(kLeft, kHead, cell * map.columns, height, stroked(kEdge, 0.5));

  const auto set = std::count(map.cells.begin(), map.cells.end(), true);
  drawing.rect(kLeft, kMargin + kTitleSize + 6, 6, 6, filled(kInk));
  drawing.text(kLeft + 9, kMargin + kTitleSize + 11.5,
               fmt::format("{}: {} % of all", map.meaning,
                           fixed_text(100.0 * static_cast<double>(set) /
                                          static_cast<double>(map.cells.size()),
                                      1)),
               {});
  drawing.text(kLeft - 5, kHead + height / 2,
               fmt::format("{} {}", map.rows, map.row_name),
               {.anchor = Anchor::middle, .turn = -90});
  drawing.text(kLeft + cell * map.columns / 2, kHead + height + 11,
               fmt::format("{} {}", map.columns, map.column_name),
               {.anchor = Anchor::middle});
  return picture_of(std::move(drawing));
}

}  // namespace qkv::plot
