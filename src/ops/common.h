// What the operations share: checks of their arguments, choice of the type.
#pragma once

#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/tape.h"
#include "qkv/autograd.h"
#include "qkv/ops.h"

namespace qkv {

// f32 or f64, else an error that names the operation.
inline void check_compute_type(std::string_view op, const Tensor& x) {
  if (!x) fail_input("[{}] an input is undefined", op);
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64)
    fail_input("[{}] computes in f32 or f64, not {} {}", op, name_of(x.dtype()),
               x.shape().str());
}
inline void check_same_type(std::string_view op, const Tensor& a,
                            const Tensor& b) {
  check_compute_type(op, a);
  check_compute_type(op, b);
  if (a.dtype() != b.dtype())
    fail_input("[{}] mixes {} {} and {} {}", op, name_of(a.dtype()),
               a.shape().str(), name_of(b.dtype()), b.shape().str());
}

// Calls body with a value of the element type: body(float{}) or body(double{}).
template <class Body>
decltype(auto) with_compute_type(DType dtype, Body&& body) {
  if (dtype == DType::f32) return body(float{});
  return body(double{});
}

// Row-major, copied if need be, without history: what kernels read.
inline Tensor packed(const Tensor& x) {
  return x.contiguous() ? x.detach() : x.clone();
}

// All axes but the last taken together.
inline std::int64_t rows_of(const Tensor& x) {
  std::int64_t rows = 1;
  for (int i = 0; i < x.rank() - 1; ++i) rows *= x.dim(i);
  return rows;
}

}  // namespace qkv
