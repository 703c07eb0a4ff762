#include "kernels/gemm/rows_times_weight.h"

#include "kernels/cut.h"

namespace qkv::kernels {

using std::int64_t;

template <class T>
void rows_times_weight(const T* x, int64_t rows, int64_t in, const T* weight,
                       int64_t out, const T* bias, T* y) {
  for_rows(out, rows * in, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o)
      for (int64_t r = 0; r < rows; ++r) {
        T sum = 0;
        for (int64_t i = 0; i < in; ++i)
          sum += x[r * in + i] * weight[o * in + i];
        y[r * out + o] = bias ? sum + bias[o] : sum;
      }
  });
}

template void rows_times_weight(const float*, int64_t, int64_t, const float*,
                                int64_t, const float*, float*);
template void rows_times_weight(const double*, int64_t, int64_t, const double*,
                                int64_t, const double*, double*);

}  // namespace qkv::kernels
