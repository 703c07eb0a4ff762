// A tensor's sizes, held inline: rank at most 6, no allocation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "qkv/export.h"

namespace qkv {

inline constexpr int kMaxRank = 6;

// a·b, or an input error "too large" when the product leaves 63 bits. Every
// size that comes from outside is multiplied with it.
QKV_API std::int64_t checked_multiply(std::int64_t a, std::int64_t b);

class QKV_API Shape {
 public:
  Shape() = default;  // rank 0: a scalar, one element
  // Throws on rank > 6, a negative size, or a product over 63 bits.
  Shape(std::initializer_list<std::int64_t> sizes);
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const { return rank_; }
  std::int64_t numel() const { return numel_; }
  // Negative i counts from the end. Throws when out of range.
  std::int64_t dim(int i) const { return sizes_[axis(i)]; }
  std::int64_t operator[](int i) const { return sizes_[i]; }
  int axis(int i) const;  // i in [-rank, rank) to [0, rank)

  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }

  Shape with(int i, std::int64_t size) const;  // a copy with one size changed
  Shape without(int i) const;                  // a copy with one axis removed
  Shape inserted(int i, std::int64_t size) const;  // axis i becomes size

  std::string str() const;  // "(2,5,32)"

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a.sizes_[i] != b.sizes_[i]) return false;
    return true;
  }

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
  std::int64_t numel_ = 1;
};

}  // namespace qkv
