#include "core/accumulate.h"

#include "core/check.h"
#include "core/parallel.h"

namespace qkv {
namespace {

constexpr std::int64_t kGrain = 1
                                << 15;  // elements: 128 KiB of f32, half an L2

template <class T>
void add_in_place(Tensor& sum, const Tensor& value) {
  T* to = sum.data<T>();
  const T* from = value.data<T>();
  parallel_ranges(sum.numel(), kGrain,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
                  });
}

}  // namespace

void accumulate(Tensor& sum, const Tensor& value) {
  if (sum.shape() != value.shape() || sum.dtype() != value.dtype())
    fail_internal("a gradient of shape {} meets one of shape {}",
                  value.shape().str(), sum.shape().str());
  if (!value.contiguous()) return accumulate(sum, value.clone());
  if (sum.dtype() == DType::f32)
    add_in_place<float>(sum, value);
  else
    add_in_place<double>(sum, value);
}

}  // namespace qkv
