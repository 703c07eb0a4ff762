// Items: short sequences, each trained on from its start to its stop token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/data.h"

namespace qkv::data {

// What of an item counts in the loss.
struct ItemTargets {
  std::int64_t first = 0;  // the tokens before it are not asked for
  bool stop = true;        // whether its end is
};

// One row of a batch, T numbers each: x = start, tokens, then start as filler;
// y = tokens, stop, then kIgnore. (makemore's rule.)
void fill_row(std::span<const std::int32_t> tokens, const ItemTargets& targets,
              std::int64_t boundary, std::int64_t block_size, std::int64_t* x,
              std::int64_t* y);

// Many of them, end to end.
class Items {
 public:
  void add(std::span<const std::int64_t> tokens,
           const ItemTargets& targets = {});
  std::int64_t size() const { return std::ssize(starts_) - 1; }
  std::int64_t longest() const { return longest_; }
  std::span<const std::int32_t> tokens(std::int64_t i) const;
  const ItemTargets& targets(std::int64_t i) const { return targets_[i]; }
  std::string checksum() const;

 private:
  std::vector<std::int32_t> tokens_;
  std::vector<std::int64_t> starts_{0};
  std::vector<ItemTargets> targets_;
  std::int64_t longest_ = 0;
};

// An empty batch (B,T). Throws on a batch size below 1.
Batch make_batch(std::int64_t batch_size, std::int64_t block_size);

// Throws unless [first, first + count) are examples, and count is at least 1.
void check_range(std::int64_t first, std::int64_t count, std::int64_t examples);

}  // namespace qkv::data
