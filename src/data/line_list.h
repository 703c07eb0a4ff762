// A list of lines, one item each: their tokens, and which are held out.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "data/items.h"
#include "data/position.h"
#include "qkv/data.h"

namespace qkv::data {

class LineList {
 public:
  // title: where the text comes from; dropped: what of it was, in words. rng
  // draws what is held out under makemore's split.
  LineList(std::shared_ptr<const std::string> text,
           std::vector<std::string_view> lines, std::string title,
           std::string dropped, const DataConfig& config,
           const OpenOptions& options, TorchRng& rng);

  const Items& items() const { return items_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  // Indices into items(), in the split's order.
  const std::vector<std::int64_t>& of(Split split) const {
    return splits_[static_cast<std::size_t>(split)];
  }
  // "names.txt: 32,033 items, …; 31,033 to train on, 1,000 to validate on"
  std::string describe() const;
  // "in train", "in validation", "in test" or "new".
  std::string judge(std::string_view text) const;
  // Of the items and their order.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  void encode();
  void split(const DataConfig& config, TorchRng& rng);
  void sort_lines() const;

  std::shared_ptr<const std::string> text_;
  std::vector<std::string_view> lines_;  // of *text_
  std::string title_, dropped_, fingerprint_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Items items_;
  std::array<std::vector<std::int64_t>, 3> splits_;
  std::vector<Split> split_of_;  // of each item
  mutable std::once_flag sorted_once_;
  mutable std::vector<std::int64_t> sorted_;  // indices, by their text
};

// What data sets of such a list share.
class ListDataset : public Dataset {
 public:
  explicit ListDataset(std::shared_ptr<const LineList> list)
      : list_(std::move(list)) {}

  std::string_view kind() const final { return "lines"; }
  const Tokenizer& tokenizer() const final { return list_->tokenizer(); }
  std::string prompt(std::int64_t) const final { return ""; }
  std::string judge(std::string_view text) const final {
    return list_->judge(text);
  }
  std::string state() const final { return position_.str(); }
  void set_state(const std::string& state) final { position_.set(state); }

 protected:
  std::shared_ptr<const LineList> list_;
  Position position_;
};

}  // namespace qkv::data
