#include "kernels/elementwise/finite.h"

#include <atomic>
#include <cmath>

#include "kernels/cut.h"

namespace qkv::kernels {

using std::int64_t;

template <class T>
int64_t first_nonfinite(const T* x, int64_t n) {
  std::atomic<int64_t> first{n};
  for_elements(n, 1, [&](int64_t begin, int64_t end) {
    if (begin >= first.load(std::memory_order_relaxed)) return;
    for (int64_t i = begin; i < end; ++i)
      if (!std::isfinite(x[i])) {
        int64_t known = first.load(std::memory_order_relaxed);
        while (i < known && !first.compare_exchange_weak(known, i)) {
        }
        return;
      }
  });
  return first == n ? -1 : first.load();
}

template int64_t first_nonfinite(const float*, int64_t);
template int64_t first_nonfinite(const double*, int64_t);

}  // namespace qkv::kernels
