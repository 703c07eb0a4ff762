// Strided loops over up to six axes.
#pragma once

#include <array>
#include <cstdint>

#include "qkv/shape.h"

namespace qkv::kernels {

// Axes of a loop and the strides, in elements, by which two operands step along
// each; a stride of 0 repeats the operand there.
struct Layout {
  int rank = 0;
  std::array<std::int64_t, kMaxRank> size{}, a{}, b{};

  std::int64_t numel() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= size[i];
    return n;
  }
};

// The same loop with as few axes as it can have: axes of size 1 dropped,
// neighbours that step as one axis joined. The order of elements stays.
inline Layout collapse(const Layout& in) {
  Layout out;
  for (int i = 0; i < in.rank; ++i) {
    if (in.size[i] == 1) continue;
    if (out.rank > 0) {
      const int last = out.rank - 1;
      if (out.a[last] == in.size[i] * in.a[i] &&
          out.b[last] == in.size[i] * in.b[i]) {
        out.size[last] *= in.size[i];
        out.a[last] = in.a[i];
        out.b[last] = in.b[i];
        continue;
      }
    }
    out.size[out.rank] = in.size[i];
    out.a[out.rank] = in.a[i];
    out.b[out.rank] = in.b[i];
    ++out.rank;
  }
  return out;
}

// Where the operands stand at row `row` of the loop over all axes but the last
// `inner` ones.
struct Position {
  std::int64_t a = 0, b = 0;
};
inline Position position(const Layout& layout, int inner, std::int64_t row) {
  Position at;
  for (int i = layout.rank - inner - 1; i >= 0; --i) {
    const std::int64_t index = row % layout.size[i];
    row /= layout.size[i];
    at.a += index * layout.a[i];
    at.b += index * layout.b[i];
  }
  return at;
}

}  // namespace qkv::kernels
