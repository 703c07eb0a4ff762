// Pictures of the course that qkv/plot.h has not: what a learner looks at while
// models come about. The same rules hold: plain numbers in, a Picture out.
// Functions throw Error (input) where the numbers do not fit each other.
#pragma once

#include <cstdint>
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

// ---- Bigrams ----------------------------------------------------------------

// How often each token (row) was followed by each other one (column).
struct PairCounts {
  std::string title;
  std::string about;                // into <desc>
  std::vector<std::string> tokens;  // as people should see them
  // (tokens, tokens), row-major, not negative.
  std::vector<std::int64_t> counts;
};

// The pair and its count in each cell, shaded by √(count / the largest count).
// Up to kMostNamedPairs tokens are written out; of more there is the shade.
QKV_API Picture draw_pair_counts(const PairCounts& pairs);
inline constexpr int kMostNamedPairs = 128;

// ---- Points in a plane ------------------------------------------------------

struct NamedDot {
  double x = 0, y = 0;
  std::string name;
};

// Names where they lie: of tokens, by their embeddings.
struct Scatter {
  std::string title;
  std::string about;
  std::string x_name, y_name;
  std::vector<NamedDot> dots;
  double width_mm = 120;
};

QKV_API Picture draw_scatter(const Scatter& scatter);

struct Example {
  double x = 0, y = 0;
  bool positive = false;
};

// What a classifier says all over a plane, under the examples that it learned
// from: above 0 the positive class, pale where it is closer to 0 than 1.
struct DecisionBoundary {
  std::string title;
  std::string about;
  double x_low = -1, x_high = 1, y_low = -1, y_high = 1;
  int columns = 0, rows = 0;  // both 2 at least
  // (rows, columns), at the middles of equal parts; the first row is the
  // lowest.
  std::vector<double> scores;
  std::vector<Example> examples;  // inside the plane
  // What the classes are called.
  std::string positive = "positive", negative = "negative";
  double width_mm = 120;
};

QKV_API Picture draw_decision_boundary(const DecisionBoundary& boundary);

// ---- Graphs and gradients ---------------------------------------------------

// A number, and what it was made of.
struct GraphValue {
  std::string name;  // may be empty
  double data = 0, gradient = 0;
  std::string operation;  // empty: given, made of nothing
  std::vector<int> from;  // values that stand before it in the graph
};

// An expression from left to right: each value with data and gradient, and the
// operation that made it.
struct ExpressionGraph {
  std::string title;
  std::string about;
  std::vector<GraphValue> values;  // the last one is the result
};

QKV_API Picture draw_expression_graph(const ExpressionGraph& graph);

// A square for each number: its area is |value| / the largest, filled where it
// is positive, hollow where it is negative (Hinton's diagram).
struct SignedSquares {
  std::string title;
  std::string about;
  std::string row_name, column_name;
  std::vector<std::string> row_labels, column_labels;
  std::vector<double> values;  // (row_labels, column_labels), row-major, finite
};

QKV_API Picture draw_signed_squares(const SignedSquares& squares);

}  // namespace qkv::plot
