#include "core/accumulate.h"

#include <algorithm>

#include "core/check.h"
#include "core/parallel.h"

namespace qkv {
namespace {

constexpr std::int64_t kGrain = 1
                                << 15;  // elements: 128 KiB of f32, half an L2

template <class T>
void add_in_place(T* to, const T* from, std::int64_t count) {
  parallel_ranges(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

// Of each of `outer` blocks of sum, `whole` long, `count` elements from
// `first`.
template <class T>
void add_blocks(Tensor& sum, std::int64_t outer, std::int64_t whole,
                std::int64_t first, const Tensor& value, std::int64_t count) {
  T* to = sum.data<T>() + first;
  const T* from = value.data<T>();
  parallel_ranges(
      outer,
      std::max<std::int64_t>(kGrain / std::max<std::int64_t>(count, 1), 1),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b)
          for (std::int64_t i = 0; i < count; ++i)
            to[b * whole + i] += from[b * count + i];
      });
}

}  // namespace

void accumulate(Tensor& sum, const Tensor& value) {
  if (sum.shape() != value.shape() || sum.dtype() != value.dtype())
    fail_internal("a gradient of shape {} meets one of shape {}",
                  value.shape().str(), sum.shape().str());
  if (!value.contiguous()) return accumulate(sum, value.clone());
  if (sum.dtype() == DType::f32)
    add_in_place(sum.data<float>(), value.data<float>(), sum.numel());
  else
    add_in_place(sum.data<double>(), value.data<double>(), sum.numel());
}

void accumulate_part(Tensor& sum, int axis, std::int64_t from,
                     const Tensor& value) {
  const Shape& whole = sum.shape();
  if (value.dtype() != sum.dtype() ||
      value.shape() != whole.with(axis, value.dim(axis)) ||
      from + value.dim(axis) > whole[axis])
    fail_internal("a gradient of shape {} meets one of shape {}, axis {} at {}",
                  value.shape().str(), whole.str(), axis, from);
  if (!value.contiguous())
    return accumulate_part(sum, axis, from, value.clone());
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= whole[i];
  for (int i = axis + 1; i < whole.rank(); ++i) inner *= whole[i];
  const auto add =
      sum.dtype() == DType::f32 ? add_blocks<float> : add_blocks<double>;
  add(sum, outer, whole[axis] * inner, from * inner, value,
      value.dim(axis) * inner);
}

}  // namespace qkv
