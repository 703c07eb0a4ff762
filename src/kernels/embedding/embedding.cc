#include "kernels/embedding/embedding.h"

#include <algorithm>
#include <cstring>

#include "kernels/cut.h"

namespace qkv::kernels {

using std::int64_t;

int64_t first_out_of_range(const int64_t* ids, int64_t count, int64_t limit) {
  for (int64_t i = 0; i < count; ++i)
    if (ids[i] < 0 || ids[i] >= limit) return i;
  return -1;
}

int64_t first_out_of_range(const int64_t* ids, int64_t count, int64_t limit,
                           int64_t allowed) {
  for (int64_t i = 0; i < count; ++i)
    if ((ids[i] < 0 || ids[i] >= limit) && ids[i] != allowed) return i;
  return -1;
}

template <class T>
void embedding(const T* table, int64_t width, const int64_t* ids, int64_t count,
               T* out) {
  if (width == 0) return;
  for_rows(count, width, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(out + i * width, table + ids[i] * width,
                  static_cast<std::size_t>(width) * sizeof(T));
  });
}

template <class T>
void embedding_backward(const T* dy, int64_t width, const int64_t* ids,
                        int64_t count, T* dtable) {
  // Cut along the width: every block sees all ids in order.
  constexpr int64_t kColumns = 64;
  const int64_t blocks = (width + kColumns - 1) / kColumns;
  for_rows(blocks, count * kColumns, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kColumns;
    const int64_t last = std::min(width, end * kColumns);
    for (int64_t i = 0; i < count; ++i) {
      const T* from = dy + i * width;
      T* to = dtable + ids[i] * width;
      for (int64_t j = first; j < last; ++j) to[j] += from[j];
    }
  });
}

template void embedding(const float*, int64_t, const int64_t*, int64_t, float*);
template void embedding(const double*, int64_t, const int64_t*, int64_t,
                        double*);
template void embedding_backward(const float*, int64_t, const int64_t*, int64_t,
                                 float*);
template void embedding_backward(const double*, int64_t, const int64_t*,
                                 int64_t, double*);

}  // namespace qkv::kernels
