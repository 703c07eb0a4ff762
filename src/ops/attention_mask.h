// A Mask made ready for one call: checked against its shape, tensors in the
// form that the kernels read.
#pragma once

#include <string_view>

#include "kernels/attention/attention.h"
#include "qkv/attention.h"

namespace qkv {

class ReadyMask {
 public:
  ReadyMask() = default;
  // Throws, naming op, when a part of the mask does not fit the shape.
  ReadyMask(std::string_view op, const Mask& mask,
            const kernels::AttentionShape& shape, DType dtype);

  // As the kernels take it; valid while this object is. T is dtype's type.
  template <class T>
  kernels::AttentionMask<T> view() const;

 private:
  bool banded_ = false;
  std::int64_t window_ = 0;
  Tensor lengths_, offsets_;  // (B) i64
  Tensor slopes_;             // (H)
  Tensor dense_;              // any strides; (B,H,T,S) by dense_strides_
  std::int64_t dense_strides_[4] = {};
};

}  // namespace qkv
