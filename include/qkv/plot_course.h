// Pictures of the course that qkv/plot.h has not: what a learner looks at while
// models come about. The same rules hold: plain numbers in, a Picture out.
// Functions throw Error (input) where the numbers do not fit each other.
#pragma once

#include <string>
#include <vector>

#include "qkv/export.h"
#include "qkv/plot.h"

namespace qkv::plot {

// ---- Histograms -------------------------------------------------------------

struct Sample {
  std::string name;  // "layer 0"
  std::vector<float> values;
  std::string note;  // at the right: "mean 0.00, std 0.63"
};

// One histogram below the other over one axis: how layers differ.
struct Histograms {
  std::string title;
  std::string about;  // into <desc>
  std::string x_name;
  std::vector<Sample> samples;  // the first is the top row
  double low = -1, high = 1;    // values beyond are counted in the outer bins
  int bins = 80;
  // The part of a row's values that a bin of full height holds; a higher one is
  // cut. 0: that of the highest bin.
  double full = 0;
  double width_mm = 88;
};

QKV_API Picture draw_histograms(const Histograms& histograms);

// ---- Bit map ----------------------------------------------------------------

// A matrix of yes (dark) and no: which neurons are saturated by which examples.
struct BitMap {
  std::string title;
  std::string about;                  // into <desc>
  std::string meaning;                // of a dark cell
  std::string row_name, column_name;  // "examples", "neurons"
  int rows = 0, columns = 0;
  std::vector<bool> cells;  // (rows, columns), row-major
  double width_mm = 88;
};

QKV_API Picture draw_bit_map(const BitMap& map);

}  // namespace qkv::plot
