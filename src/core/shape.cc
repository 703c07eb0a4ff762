#include "qkv/shape.h"

#include <fmt/format.h>

#include "core/check.h"

namespace qkv {

std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    fail_input("too large: {} x {} does not fit 63 bits", a, b);
  return product;
}

Shape::Shape(std::initializer_list<std::int64_t> sizes)
    : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const std::int64_t> sizes) {
  if (sizes.size() > kMaxRank)
    fail_input("a tensor has at most {} axes, not {}", kMaxRank, sizes.size());
  // Zero sizes are multiplied last, so that an overflow cannot hide behind one.
  bool empty = false;
  for (std::int64_t size : sizes) {
    if (size < 0) fail_input("a size must not be negative: {}", size);
    sizes_[rank_++] = size;
    if (size == 0)
      empty = true;
    else
      numel_ = checked_multiply(numel_, size);
  }
  if (empty) numel_ = 0;
}

int Shape::axis(int i) const {
  int axis = i < 0 ? i + rank_ : i;
  if (axis < 0 || axis >= rank_)
    fail_input("axis {} is out of range for shape {}", i, str());
  return axis;
}

Shape Shape::with(int i, std::int64_t size) const {
  auto sizes = sizes_;
  sizes[axis(i)] = size;
  return Shape(std::span<const std::int64_t>(sizes.data(), rank_));
}

Shape Shape::without(int i) const {
  std::array<std::int64_t, kMaxRank> sizes{};
  int skip = axis(i), n = 0;
  for (int j = 0; j < rank_; ++j)
    if (j != skip) sizes[n++] = sizes_[j];
  return Shape(std::span<const std::int64_t>(sizes.data(), n));
}

Shape Shape::inserted(int i, std::int64_t size) const {
  if (rank_ == kMaxRank)
    fail_input("a tensor has at most {} axes: {} is full", kMaxRank, str());
  int at = i < 0 ? i + rank_ + 1 : i;
  if (at < 0 || at > rank_)
    fail_input("axis {} is out of range for inserting into {}", i, str());
  std::array<std::int64_t, kMaxRank> sizes{};
  for (int j = 0; j <= rank_; ++j)
    sizes[j] = j < at ? sizes_[j] : j == at ? size : sizes_[j - 1];
  return Shape(std::span<const std::int64_t>(sizes.data(), rank_ + 1));
}

std::string Shape::str() const {
  return fmt::format("({})", fmt::join(begin(), end(), ","));
}

}  // namespace qkv
