#include "data/line_list.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "core/text.h"
#include "data/python_random.h"
#include "qkv/io.h"

namespace qkv::data {
namespace {

constexpr std::int64_t kMostValidation = 1000;  // items; makemore's rule
constexpr std::uint32_t kLectureSeed = 42;

std::string joined(const std::vector<std::string_view>& lines) {
  std::string all;
  for (const std::string_view line : lines) all += line;
  return all;
}

}  // namespace

LineList::LineList(std::shared_ptr<const std::string> text,
                   std::vector<std::string_view> lines, std::string title,
                   std::string dropped, const DataConfig& config,
                   const OpenOptions& options, TorchRng& rng)
    : text_(std::move(text)),
      lines_(std::move(lines)),
      title_(std::move(title)),
      dropped_(std::move(dropped)),
      tokenizer_(options.tokenizer
                     ? options.tokenizer
                     : character_tokenizer(joined(lines_), true)) {
  if (!tokenizer_->start_token())
    fail_input(
        "{}: the tokenizer has no start token, which items need: it "
        "belongs to a model of running text",
        title_);
  encode();
  split(config, rng);
}

void LineList::encode() {
  for (const std::string_view line : lines_) try {
      items_.add(tokenizer_->encode(line));
    } catch (const Error& error) {
      fail_input("{}: item {}: {}", title_, quote(line), error.what());
    }
}

void LineList::split(const DataConfig& config, TorchRng& rng) {
  const std::int64_t n = items_.size();
  if (n < 2)  // no item at all is refused before
    fail_input("{}: 1 item: a list needs two at least; give more lines",
               title_);
  std::vector<std::int64_t> order;
  std::array<std::int64_t, 2> ends;  // of training and validation in `order`
  if (config.split == SplitRule::lecture) {
    order = python_shuffle(kLectureSeed, n);
    ends = {static_cast<std::int64_t>(0.8 * static_cast<double>(n)),
            static_cast<std::int64_t>(0.9 * static_cast<double>(n))};
  } else {
    order = rng.randperm(n);
    const auto held_out = std::min(
        kMostValidation, static_cast<std::int64_t>(static_cast<double>(n) *
                                                   config.validation_fraction));
    ends = {n - held_out, n};
  }
  splits_[0].assign(order.begin(), order.begin() + ends[0]);
  splits_[1].assign(order.begin() + ends[0], order.begin() + ends[1]);
  splits_[2].assign(order.begin() + ends[1], order.end());
  split_of_.resize(static_cast<std::size_t>(n));
  for (const Split split : {Split::validation, Split::test})
    for (const std::int64_t i : of(split)) split_of_[i] = split;
  fingerprint_ =
      io::checksum(items_.checksum() +
                   std::string(reinterpret_cast<const char*>(order.data()),
                               order.size() * sizeof order[0]));
}

std::string LineList::describe() const {
  const auto held_out = [&](Split split, const char* to) {
    const auto& items = of(split);
    return items.empty()
               ? ""
               : fmt::format(", {} to {} on", grouped(items.size()), to);
  };
  const std::string rest =
      held_out(Split::validation, "validate") + held_out(Split::test, "test");
  return fmt::format(
      "{}: {} items{}, the longest of {} tokens, {} different tokens; {} to "
      "train on{}",
      title_, grouped(items_.size()), dropped_, items_.longest(),
      tokenizer_->vocab_size(), grouped(of(Split::train).size()),
      rest.empty() ? ", none to validate on" : rest);
}

std::string LineList::judge(std::string_view text) const {
  std::call_once(sorted_once_, [this] { sort_lines(); });
  const auto found = std::lower_bound(
      sorted_.begin(), sorted_.end(), text,
      [this](std::int64_t i, std::string_view t) { return lines_[i] < t; });
  if (found == sorted_.end() || lines_[*found] != text) return "new";
  switch (split_of_[*found]) {
    case Split::train:
      return "in train";
    case Split::validation:
      return "in validation";
    case Split::test:
      return "in test";
  }
  return "new";
}

// An item that is there twice may lie in two splits: train comes first.
void LineList::sort_lines() const {
  sorted_.resize(lines_.size());
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::sort(sorted_.begin(), sorted_.end(), [this](auto a, auto b) {
    return lines_[a] != lines_[b] ? lines_[a] < lines_[b]
                                  : split_of_[a] < split_of_[b];
  });
}

}  // namespace qkv::data
