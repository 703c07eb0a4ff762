#include "data/items.h"

#include <algorithm>

#include "core/check.h"
#include "qkv/io.h"
#include "qkv/ops.h"

namespace qkv::data {

void fill_row(std::span<const std::int32_t> tokens, const ItemTargets& targets,
              std::int64_t boundary, std::int64_t block_size, std::int64_t* x,
              std::int64_t* y) {
  const std::int64_t n = std::ssize(tokens);
  std::fill_n(x, block_size, boundary);
  std::fill_n(y, block_size, kIgnore);
  std::copy_n(tokens.begin(), std::min(n, block_size - 1), x + 1);
  for (std::int64_t i = targets.first; i < std::min(n, block_size); ++i)
    y[i] = tokens[static_cast<std::size_t>(i)];
  if (targets.stop && n < block_size) y[n] = boundary;
}

void Items::add(std::span<const std::int64_t> tokens,
                const ItemTargets& targets) {
  for (const std::int64_t token : tokens)
    tokens_.push_back(static_cast<std::int32_t>(token));
  starts_.push_back(std::ssize(tokens_));
  targets_.push_back(targets);
  longest_ = std::max(longest_, std::ssize(tokens));
}

std::span<const std::int32_t> Items::tokens(std::int64_t i) const {
  return std::span(tokens_).subspan(
      static_cast<std::size_t>(starts_[i]),
      static_cast<std::size_t>(starts_[i + 1] - starts_[i]));
}

std::string Items::checksum() const {
  const auto bytes = [](const auto& numbers) {
    return std::string_view(reinterpret_cast<const char*>(numbers.data()),
                            numbers.size() * sizeof numbers[0]);
  };
  return io::checksum(io::checksum(bytes(tokens_)) +
                      io::checksum(bytes(starts_)));
}

Batch make_batch(std::int64_t batch_size, std::int64_t block_size) {
  if (batch_size < 1)
    fail_input("the batch size must be at least 1, not {}", batch_size);
  const Shape shape{batch_size, block_size};
  return {.ids = Tensor::empty(shape, DType::i64),
          .targets = Tensor::empty(shape, DType::i64)};
}

void check_range(std::int64_t first, std::int64_t count,
                 std::int64_t examples) {
  if (first < 0 || count < 1 || first > examples - count)
    fail_input("[evaluation] examples {} to {} of {}", first, first + count,
               examples);
}

}  // namespace qkv::data
