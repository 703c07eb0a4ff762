#include "ops/finite.h"

#include <fmt/core.h>

#include "kernels/elementwise/finite.h"

namespace qkv {

std::string first_nonfinite(const Tensor& x) {
  if (!x || (x.dtype() != DType::f32 && x.dtype() != DType::f64)) return "";
  const Tensor values = x.contiguous() ? x : x.clone();
  const std::int64_t at =
      x.dtype() == DType::f32
          ? kernels::first_nonfinite(values.data<float>(), values.numel())
          : kernels::first_nonfinite(values.data<double>(), values.numel());
  if (at < 0) return "";
  const double value = x.dtype() == DType::f32
                           ? static_cast<double>(values.data<float>()[at])
                           : values.data<double>()[at];
  return fmt::format("element {} is {}", at, value);
}

}  // namespace qkv
