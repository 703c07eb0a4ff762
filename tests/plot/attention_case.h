// Attention to draw in tests.
#pragma once

#include <cmath>
#include <string>

#include "qkv/plot.h"

namespace qkv::plot {

// Rows that sum to 1 over the keys that a causal mask shows.
inline Attention random_attention(int layers, int heads, int queries, int keys,
                                  bool causal) {
  Attention attention;
  attention.layers = layers;
  attention.heads = heads;
  attention.queries = queries;
  attention.keys = keys;
  attention.causal = causal;
  std::uint32_t state = 1;
  for (int row = 0; row < layers * heads * queries; ++row) {
    const int seen = causal ? row % queries + 1 + keys - queries : keys;
    double sum = 0;
    std::vector<double> exps(keys, 0.0);
    for (int k = 0; k < seen; ++k) {
      state = state * 1664525u + 1013904223u;
      sum += exps[k] = std::exp(6.0 * (state >> 8) / (1 << 24));
    }
    for (int k = 0; k < keys; ++k)
      attention.values.push_back(
          static_cast<float>(seen > 0 ? exps[k] / sum : 0));
  }
  return attention;
}

inline std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (const char c : text) tokens.push_back({std::string(1, c)});
  return tokens;
}

}  // namespace qkv::plot
