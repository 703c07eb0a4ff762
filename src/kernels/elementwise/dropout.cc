#include "kernels/elementwise/dropout.h"

#include <cmath>

#include "kernels/cut.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

constexpr int64_t kCost = 8;  // of an element: a quarter of ten Philox rounds

}  // namespace

template <class T>
void dropout(const T* x, int64_t n, double p, const StepRng& rng,
             std::uint64_t stream, int64_t first, T* y) {
  const T factor = static_cast<T>(1 / (1 - p));
  // uniform is a multiple of 2⁻²⁴, so this compares as p itself would.
  const auto limit = static_cast<float>(std::ceil(p * 0x1p24) * 0x1p-24);
  for_elements(n, kCost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::uint64_t>(first + i);
      y[i] = rng.uniform(stream, index) < limit ? T{0} : x[i] * factor;
    }
  });
}

template void dropout(const float*, int64_t, double, const StepRng&,
                      std::uint64_t, int64_t, float*);
template void dropout(const double*, int64_t, double, const StepRng&,
                      std::uint64_t, int64_t, double*);

}  // namespace qkv::kernels
