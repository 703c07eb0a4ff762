// The parts that attention pictures are put together from.
#pragma once

#include <string>
#include <vector>

#include "plot/cells.h"
#include "plot/drawing.h"

namespace qkv::plot {

// A matrix with square cells, its top left corner at (x, y).
struct MatrixPlace {
  double x = 0, y = 0, cell = 0;
};

// The visible cells and a frame around all.
void draw_cells(Drawing& drawing, const MatrixPlace& place, const Cells& cells);

// The values, where they fit into cells of this size.
void draw_numbers(Drawing& drawing, const MatrixPlace& place,
                  const Attention& attention, int layer, int head,
                  const Cells& cells);

// The ramp of a light ground alone, kRampWidth by 6.
void draw_ramp(Drawing& drawing, double x, double y);
// The ramp with its name and values, and the sign for masked (and for NaN).
void draw_legend(Drawing& drawing, double x, double y, Quantity quantity,
                 bool bad);
inline constexpr double kRampWidth = 100;
inline constexpr double kLegendWidth = kRampWidth + 54, kLegendHeight = 26;

// The tokens along one side.
struct Side {
  std::vector<std::string> labels;
  double widest = 0;   // in points
  double upright = 0;  // the least distance at which they may stand upright

  // The room that they take below columns of this width.
  double depth(double cell) const;
};
Side side_of(const Attention& attention, bool queries);
inline constexpr double kLabelPitch = 7;  // the closest that they may stand

void label_rows(Drawing& drawing, const MatrixPlace& place, const Side& side);
// y: the lower edge of the matrix.
void label_columns(Drawing& drawing, double x, double y, double cell,
                   const Side& side);
// Positions along both sides, for cells too fine for tokens. They take 24
// points at the left and 14 below.
void label_positions(Drawing& drawing, const MatrixPlace& place,
                     const Attention& attention, const Cells& cells);
inline constexpr double kPositionsWidth = 24, kPositionsDepth = 14;

}  // namespace qkv::plot
