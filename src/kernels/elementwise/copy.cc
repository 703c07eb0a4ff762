#include "kernels/elementwise/copy.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "kernels/cut.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

constexpr int64_t kTile = 32;  // rows and columns of a transposed block

template <class E>
void copy_row(const E* source, int64_t step_a, E* target, int64_t step_b,
              int64_t n) {
  if (step_a == 1 && step_b == 1) {
    std::memcpy(target, source, static_cast<std::size_t>(n) * sizeof(E));
    return;
  }
  for (int64_t i = 0; i < n; ++i) target[i * step_b] = source[i * step_a];
}

// Rows × columns, source contiguous along rows, target along columns.
template <class E>
void transpose_block(const E* source, int64_t step_a, E* target, int64_t step_b,
                     int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      target[r * step_b + c] = source[r + c * step_a];
}

template <class E>
void copy_elements(const Layout& layout, const E* source, E* target) {
  Layout loop = collapse(layout);
  const int64_t count = loop.numel();
  if (count == 0) return;
  if (loop.rank == 0) {
    *target = *source;
    return;
  }
  const int last = loop.rank - 1;
  if (loop.rank == 1) {
    for_elements(count, 1, [&](int64_t begin, int64_t end) {
      copy_row(source + begin * loop.a[0], loop.a[0],
               target + begin * loop.b[0], loop.b[0], end - begin);
    });
    return;
  }
  // The axis along which the source is contiguous, when it is not the last.
  int other = -1;
  if (loop.b[last] == 1 && loop.a[last] != 1)
    for (int i = 0; i < last; ++i)
      if (loop.a[i] == 1) other = i;
  if (other < 0) {
    const int64_t n = loop.size[last];
    for_rows(count / n, n, [&](int64_t begin, int64_t end) {
      Walk at(loop, 1, begin);
      for (int64_t r = begin; r < end; ++r, at.next())
        copy_row(source + at.a, loop.a[last], target + at.b, loop.b[last], n);
    });
    return;
  }
  // Bring that axis next to the last and go tile by tile.
  for (int i = other; i + 1 < last; ++i) {
    std::swap(loop.size[i], loop.size[i + 1]);
    std::swap(loop.a[i], loop.a[i + 1]);
    std::swap(loop.b[i], loop.b[i + 1]);
  }
  const int64_t rows = loop.size[last - 1], cols = loop.size[last];
  const int64_t row_tiles = (rows + kTile - 1) / kTile;
  const int64_t matrices = count / (rows * cols);
  for_rows(matrices * row_tiles, std::min(kTile, rows) * cols * 2,
           [&](int64_t begin, int64_t end) {
             for (int64_t t = begin; t < end; ++t) {
               const Walk at(loop, 2, t / row_tiles);
               const int64_t r = t % row_tiles * kTile;
               for (int64_t c = 0; c < cols; c += kTile)
                 transpose_block(
                     source + at.a + r + c * loop.a[last], loop.a[last],
                     target + at.b + r * loop.b[last - 1] + c, loop.b[last - 1],
                     std::min(kTile, rows - r), std::min(kTile, cols - c));
             }
           });
}

}  // namespace

void copy(const Layout& layout, std::size_t element_size, const void* source,
          void* target) {
  const auto as = [&](auto element) {
    using E = decltype(element);
    copy_elements(layout, static_cast<const E*>(source),
                  static_cast<E*>(target));
  };
  switch (element_size) {
    case 1:
      return as(std::uint8_t{});
    case 2:
      return as(std::uint16_t{});
    case 4:
      return as(std::uint32_t{});
    case 8:
      return as(std::uint64_t{});
    default:
      fail_internal("no copy for elements of {} bytes", element_size);
  }
}

}  // namespace qkv::kernels
