// One head of an attention picture as entries of the colour ramp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qkv/plot.h"

namespace qkv::plot {

// Throws where the numbers of `attention` do not fit each other, naming
// `operation`.
void check_attention(std::string_view operation, const Attention& attention);

// kHidden where the mask hides the key.
float value_at(const Attention& attention, int layer, int head, int query,
               int key);

// Of a grid: "layer 0" or the row's own name.
std::string row_name(const Attention& attention, int row);

// What stands beside a row or under a column: the token, or its position.
std::string query_label(const Attention& attention, int query, int columns);
std::string key_label(const Attention& attention, int key, int columns);

inline constexpr int kHiddenCell = -1, kBadCell = -2;

struct Cells {
  int rows = 0, columns = 0;
  int pool = 1;            // a cell is the largest of pool × pool values
  std::vector<int> index;  // into the ramp, or one of the two above
  int at(int row, int column) const { return index[row * columns + column]; }
};

// At most `most` cells either way.
Cells cells_of(const Attention& attention, int layer, int head, int most);

// The legend: where along the ramp the printed values stand.
struct ScaleTick {
  double at;  // 0…1
  std::string_view text;
};
struct Scale {
  std::string_view name;
  std::vector<ScaleTick> ticks;
};
const Scale& scale_of(Quantity quantity);

}  // namespace qkv::plot
