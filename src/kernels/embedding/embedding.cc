#include "kernels/embedding/embedding.h"

#include <algorithm>
#include <cstring>

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/embedding/embedding.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

// Columns [first, last) of every row of dy, added to its row of dtable.
void add_columns_fast(const float* dy, int64_t width, const int64_t* ids,
                      int64_t count, int64_t first, int64_t last,
                      float* dtable) {
  for (int64_t i = 0; i < count; ++i) {
    const float* from = dy + i * width + first;
    float* to = dtable + ids[i] * width + first;
    each(last - first, [&](int64_t j, auto lanes) QKV_INLINE_LAMBDA {
      store(hn::Add(load(to + j, lanes), load(from + j, lanes)), to + j, lanes);
    });
  }
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(add_columns_fast);

using std::int64_t;

template <class T>
void add_columns(const T* dy, int64_t width, const int64_t* ids, int64_t count,
                 int64_t first, int64_t last, T* dtable) {
  if constexpr (std::is_same_v<T, float>)
    if (use_fast<T>())
      return HWY_DYNAMIC_DISPATCH(add_columns_fast)(dy, width, ids, count,
                                                    first, last, dtable);
  for (int64_t i = 0; i < count; ++i) {
    const T* from = dy + i * width;
    T* to = dtable + ids[i] * width;
    for (int64_t j = first; j < last; ++j) to[j] += from[j];
  }
}

}  // namespace

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
  constexpr int64_t kColumns = 32;
  const int64_t blocks = (width + kColumns - 1) / kColumns;
  for_rows(blocks, count * kColumns, [&](int64_t begin, int64_t end) {
    add_columns(dy, width, ids, count, begin * kColumns,
                std::min(width, end * kColumns), dtable);
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
#endif  // HWY_ONCE
