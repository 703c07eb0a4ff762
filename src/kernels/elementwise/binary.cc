#include "kernels/elementwise/binary.h"

#include "kernels/cut.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

template <class T>
void row(Binary op, const T* a, int64_t step_a, const T* b, int64_t step_b,
         int64_t n, T* out) {
  if (op == Binary::add)
    for (int64_t i = 0; i < n; ++i) out[i] = a[i * step_a] + b[i * step_b];
  else
    for (int64_t i = 0; i < n; ++i) out[i] = a[i * step_a] * b[i * step_b];
}

}  // namespace

template <class T>
void binary(Binary op, const Layout& layout, const T* a, const T* b, T* out) {
  const Layout loop = collapse(layout);
  if (loop.numel() == 0) return;
  if (loop.rank == 0) return row(op, a, 0, b, 0, 1, out);
  const int last = loop.rank - 1;
  const int64_t n = loop.size[last], step_a = loop.a[last],
                step_b = loop.b[last];
  if (loop.rank == 1)
    return for_elements(n, 1, [&](int64_t begin, int64_t end) {
      row(op, a + begin * step_a, step_a, b + begin * step_b, step_b,
          end - begin, out + begin);
    });
  for_rows(loop.numel() / n, n, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Position at = position(loop, 1, r);
      row(op, a + at.a, step_a, b + at.b, step_b, n, out + r * n);
    }
  });
}

template void binary(Binary, const Layout&, const float*, const float*, float*);
template void binary(Binary, const Layout&, const double*, const double*,
                     double*);

}  // namespace qkv::kernels
