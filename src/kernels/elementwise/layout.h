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

// Walks over all axes but the last `inner` ones, in order, starting anywhere:
// a and b are where the operands stand. Stepping divides nothing.
class Walk {
 public:
  Walk(const Layout& layout, int inner, std::int64_t start)
      : layout_(layout), axes_(layout.rank - inner) {
    for (int i = axes_ - 1; i >= 0; --i) {
      index_[i] = start % layout.size[i];
      start /= layout.size[i];
      a += index_[i] * layout.a[i];
      b += index_[i] * layout.b[i];
    }
  }
  void next() {
    for (int i = axes_ - 1; i >= 0; --i) {
      a += layout_.a[i];
      b += layout_.b[i];
      if (++index_[i] < layout_.size[i]) return;
      a -= layout_.size[i] * layout_.a[i];
      b -= layout_.size[i] * layout_.b[i];
      index_[i] = 0;
    }
  }

  std::int64_t a = 0, b = 0;

 private:
  const Layout& layout_;
  int axes_;
  std::array<std::int64_t, kMaxRank> index_{};
};

}  // namespace qkv::kernels
