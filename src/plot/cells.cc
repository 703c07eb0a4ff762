#include "plot/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plot/number.h"
#include "plot/token_label.h"

namespace qkv::plot {
namespace {

constexpr float kScoreSpan = 8;  // softmax cannot see further down

// 0…1 along the ramp; `row_max` is the largest score of its row.
double along_ramp(Quantity quantity, float value, float row_max) {
  return quantity == Quantity::weights ? std::sqrt(std::max(value, 0.0f))
                                       : 1 + (value - row_max) / kScoreSpan;
}

std::string label(const std::vector<Token>& tokens, int i, int columns) {
  return tokens.empty() ? count_text(i) : token_label(tokens[i], columns);
}

}  // namespace

void check_attention(std::string_view operation, const Attention& a) {
  if (a.layers < 1 || a.heads < 1 || a.queries < 0 || a.keys < 0)
    fail_input("[{}] {} layers, {} heads, {} queries, {} keys", operation,
               a.layers, a.heads, a.queries, a.keys);
  const double numbers =
      static_cast<double>(a.layers) * a.heads * a.queries * a.keys;
  if (numbers != static_cast<double>(a.values.size()))
    fail_input("[{}] {} values for {} layers x {} heads x {} queries x {} keys",
               operation, a.values.size(), a.layers, a.heads, a.queries,
               a.keys);
  const auto named = [](const std::vector<std::string>& names, int n) {
    return names.empty() || names.size() == static_cast<std::size_t>(n);
  };
  if (!named(a.row_names, a.layers) || !named(a.column_names, a.heads))
    fail_input("[{}] {} row names and {} column names for {} x {} pictures",
               operation, a.row_names.size(), a.column_names.size(), a.layers,
               a.heads);
  const auto fits = [](const std::vector<Token>& tokens, int n) {
    return tokens.empty() || tokens.size() == static_cast<std::size_t>(n);
  };
  if (!fits(a.query_tokens, a.queries) || !fits(a.key_tokens, a.keys))
    fail_input("[{}] {} query tokens and {} key tokens for {} x {} values",
               operation, a.query_tokens.size(), a.key_tokens.size(), a.queries,
               a.keys);
}

float value_at(const Attention& a, int layer, int head, int query, int key) {
  if (a.causal && key > query + a.keys - a.queries) return kHidden;
  const std::size_t row =
      (static_cast<std::size_t>(layer) * a.heads + head) * a.queries + query;
  return a.values[row * a.keys + key];
}

std::string row_name(const Attention& a, int row) {
  return a.row_names.empty() ? fmt::format("layer {}", a.first_layer + row)
                             : a.row_names[row];
}

std::string query_label(const Attention& a, int query, int columns) {
  return label(a.query_tokens, query, columns);
}

std::string key_label(const Attention& a, int key, int columns) {
  const bool same = a.key_tokens.empty() && a.keys == a.queries;
  return label(same ? a.query_tokens : a.key_tokens, key, columns);
}

Cells cells_of(const Attention& a, int layer, int head, int most) {
  Cells cells;
  const int longest = std::max({a.queries, a.keys, 1});
  cells.pool = (longest + most - 1) / most;
  cells.rows = (a.queries + cells.pool - 1) / cells.pool;
  cells.columns = (a.keys + cells.pool - 1) / cells.pool;
  cells.index.assign(static_cast<std::size_t>(cells.rows) * cells.columns,
                     kHiddenCell);
  for (int q = 0; q < a.queries; ++q) {
    float row_max = kHidden;
    for (int k = 0; k < a.keys; ++k) {
      const float value = value_at(a, layer, head, q, k);
      if (value > row_max) row_max = value;
    }
    int* const row =
        &cells.index[static_cast<std::size_t>(q / cells.pool) * cells.columns];
    for (int k = 0; k < a.keys; ++k) {
      const float value = value_at(a, layer, head, q, k);
      int& cell = row[k / cells.pool];
      if (value == kHidden || cell == kBadCell) continue;
      if (std::isnan(value)) {
        cell = kBadCell;
        continue;
      }
      const double t =
          std::clamp(along_ramp(a.quantity, value, row_max), 0.0, 1.0);
      cell = std::max(cell, static_cast<int>(255 * t + 0.5));
    }
  }
  return cells;
}

const Scale& scale_of(Quantity quantity) {
  static const Scale weights = {"attention weight, √ scale",
                                {{0, "0"},
                                 {0.1, ".01"},
                                 {std::sqrt(0.1), ".1"},
                                 {0.5, ".25"},
                                 {std::sqrt(0.5), ".5"},
                                 {1, "1"}}};
  static const Scale scores = {
      "score below the row’s largest",
      {{0, "≤ −8"}, {0.25, "−6"}, {0.5, "−4"}, {0.75, "−2"}, {1, "0"}}};
  return quantity == Quantity::weights ? weights : scores;
}

}  // namespace qkv::plot
