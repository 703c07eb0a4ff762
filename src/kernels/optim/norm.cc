#include "kernels/optim/norm.h"

#include <algorithm>

#include "kernels/cut.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

constexpr int64_t kChunk = 16384;  // elements summed in one go

}  // namespace

int64_t sum_of_squares_workspace(int64_t n) {
  return (n + kChunk - 1) / kChunk;
}

template <class T>
double sum_of_squares(const T* x, int64_t n, double* workspace) {
  const int64_t chunks = sum_of_squares_workspace(n);
  for_rows(chunks, kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t last = std::min(n, (chunk + 1) * kChunk);
      double sum = 0;
      for (int64_t i = chunk * kChunk; i < last; ++i) {
        const auto value = static_cast<double>(x[i]);
        sum += value * value;
      }
      workspace[chunk] = sum;
    }
  });
  double total = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) total += workspace[chunk];
  return total;
}

template double sum_of_squares(const float*, int64_t, double*);
template double sum_of_squares(const double*, int64_t, double*);

}  // namespace qkv::kernels
