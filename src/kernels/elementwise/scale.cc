#include "kernels/elementwise/scale.h"

#include "kernels/cut.h"

namespace qkv::kernels {

using std::int64_t;

template <class T>
void scale(const T* x, T factor, int64_t n, T* y) {
  for_elements(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = factor * x[i];
  });
}

template <class T>
void add_scaled(const T* x, T factor, int64_t n, T* y) {
  for_elements(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] += factor * x[i];
  });
}

template void scale(const float*, float, int64_t, float*);
template void scale(const double*, double, int64_t, double*);
template void add_scaled(const float*, float, int64_t, float*);
template void add_scaled(const double*, double, int64_t, double*);

}  // namespace qkv::kernels
