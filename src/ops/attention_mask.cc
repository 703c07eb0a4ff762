#include "ops/attention_mask.h"

#include <bit>
#include <cmath>

#include "core/check.h"
#include "qkv/autograd.h"

namespace qkv {
namespace {

bool is_integer(DType dtype) {
  return !is_floating(dtype) && dtype != DType::boolean;
}

// (B) integers in [least, most], as i64.
Tensor per_sequence(std::string_view op, std::string_view what, const Tensor& x,
                    const kernels::AttentionShape& shape, std::int64_t least,
                    std::int64_t most) {
  if (!is_integer(x.dtype()) || x.shape() != Shape{shape.batch})
    fail_input("[{}] {} must be ({}) integers, one a sequence, not {} {}", op,
               what, shape.batch, name_of(x.dtype()), x.shape().str());
  Tensor values = x.to(DType::i64);
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    const std::int64_t value = values.data<std::int64_t>()[b];
    if (value < least || value > most)
      fail_input("[{}] {}: {} of sequence {} is outside {} … {}", op, what,
                 value, b, least, most);
  }
  return values;
}

// Slope h of n heads, n a power of two, h from 1.
double slope(std::int64_t h, std::int64_t n) {
  return std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(n));
}

Tensor alibi_slopes(std::int64_t heads, DType dtype) {
  Tensor slopes = Tensor::empty({heads}, DType::f64);
  const std::int64_t below = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(heads)));
  for (std::int64_t h = 0; h < heads; ++h)
    slopes.data<double>()[h] =
        h < below ? slope(h + 1, below) : slope(2 * (h - below) + 1, 2 * below);
  return slopes.to(dtype);
}

}  // namespace

ReadyMask::ReadyMask(std::string_view op, const Mask& mask,
                     const kernels::AttentionShape& shape, DType dtype)
    : banded_(mask.banded()), window_(mask.banded() ? mask.window() : 0) {
  if (mask.key_lengths())
    lengths_ = per_sequence(op, "key lengths", mask.key_lengths(), shape, 0,
                            shape.keys);
  if (mask.offsets())
    offsets_ = per_sequence(op, "offsets", mask.offsets(), shape,
                            -shape.queries, shape.keys);
  if (mask.alibi()) slopes_ = alibi_slopes(shape.heads, dtype);
  const Tensor& dense = mask.dense();
  if (!dense) return;
  const Shape full{shape.batch, shape.heads, shape.queries, shape.keys};
  const bool fits_type =
      dense.dtype() == DType::boolean || is_floating(dense.dtype());
  bool fits = fits_type && dense.rank() <= 4;
  for (int i = 1; fits && i <= dense.rank(); ++i)
    fits = dense.dim(-i) == 1 || dense.dim(-i) == full.dim(-i);
  if (!fits)
    fail_input(
        "[{}] a dense mask {} {} does not broadcast to (B,H,T,S) = {}; "
        "it is boolean (true: may attend) or floating (added)",
        op, name_of(dense.dtype()), dense.shape().str(), full.str());
  if (grad_enabled() && dense.requires_grad())
    fail_input(
        "[{}] the dense mask {} requires a gradient, and none flows to "
        "a mask: detach() it, or compose softmax(matmul) instead",
        op, dense.shape().str());
  dense_ = dense.dtype() == dtype || dense.dtype() == DType::boolean
               ? dense.detach()
               : dense.to(dtype);
  for (int i = 1; i <= dense.rank(); ++i)
    dense_strides_[4 - i] = dense_.dim(-i) == 1 ? 0 : dense_.stride(-i);
}

template <class T>
kernels::AttentionMask<T> ReadyMask::view() const {
  kernels::AttentionMask<T> view;
  view.banded = banded_;
  view.window = window_;
  if (lengths_) view.key_lengths = lengths_.data<std::int64_t>();
  if (offsets_) view.offsets = offsets_.data<std::int64_t>();
  if (slopes_) view.slopes = slopes_.data<T>();
  if (!dense_) return view;
  if (dense_.dtype() == DType::boolean)
    view.dense_visible = static_cast<const std::uint8_t*>(dense_.raw());
  else
    view.dense_bias = dense_.data<T>();
  view.dense_batch = dense_strides_[0];
  view.dense_head = dense_strides_[1];
  view.dense_row = dense_strides_[2];
  view.dense_key = dense_strides_[3];
  return view;
}
template kernels::AttentionMask<float> ReadyMask::view() const;
template kernels::AttentionMask<double> ReadyMask::view() const;

Mask Mask::causal() {
  Mask mask;
  mask.window_ = kernels::AttentionMask<float>::kUnlimited;
  return mask;
}

Mask Mask::window(std::int64_t n) {
  if (n < 1) fail_input("a window of {} keys: it needs at least 1", n);
  Mask mask;
  mask.window_ = std::min(n, kernels::AttentionMask<float>::kUnlimited);
  return mask;
}

Mask Mask::with_key_lengths(const Tensor& lengths) const {
  Mask mask = *this;
  mask.key_lengths_ = lengths;
  return mask;
}

Mask Mask::with_offsets(const Tensor& offsets) const {
  Mask mask = *this;
  mask.offsets_ = offsets;
  return mask;
}

Mask Mask::with_alibi() const {
  Mask mask = *this;
  mask.alibi_ = true;
  return mask;
}

Mask Mask::with_dense(const Tensor& dense) const {
  Mask mask = *this;
  mask.dense_ = dense;
  return mask;
}

}  // namespace qkv
