#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <numeric>

#include "core/check.h"
#include "core/text.h"
#include "data/items.h"
#include "data/kinds.h"
#include "data/position.h"
#include "data/python_lines.h"
#include "qkv/io.h"

namespace qkv::data {
namespace {

// Bytes of an item: the longest decides every batch's length, and attention
// costs its square.
constexpr std::size_t kLongestItem = 16384;

constexpr std::int64_t kMostValidation = 1000;  // items; makemore's rule

class Lines final : public Dataset {
 public:
  // title: where the text comes from; dropped: what of it was, in words.
  Lines(std::shared_ptr<const std::string> text,
        std::vector<std::string_view> lines, std::string title,
        std::string dropped, const DataConfig& config,
        const OpenOptions& options, TorchRng& rng)
      : text_(std::move(text)),
        lines_(std::move(lines)),
        title_(std::move(title)),
        dropped_(std::move(dropped)),
        tokenizer_(options.tokenizer ? options.tokenizer
                                     : character_tokenizer(joined(), true)) {
    if (!tokenizer_->start_token())
      fail_input(
          "{}: the tokenizer has no start token, which items need: it "
          "belongs to a model of running text",
          title_);
    encode();
    split(config.validation_fraction, rng);
  }

  std::string_view kind() const override { return "lines"; }

  std::string describe() const override {
    const std::int64_t held_out = examples(Split::validation);
    return fmt::format(
        "{}: {} items{}, the longest of {} tokens, {} different tokens; {} to "
        "train on, {}",
        title_, grouped(items_.size()), dropped_, items_.longest(),
        tokenizer_->vocab_size(), grouped(examples(Split::train)),
        held_out > 0 ? grouped(held_out) + " to validate on"
                     : "none to validate on");
  }

  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  std::int64_t block_size() const override { return items_.longest() + 1; }

  // Two numbers, as makemore's loader takes them: one that it has no use for
  // here, and the seed of the generator that chooses the items.
  void start(TorchRng& rng) override {
    rng.random63();
    position_.rng.emplace(static_cast<std::uint64_t>(rng.random63()));
  }

  Batch next(std::int64_t batch_size) override {
    TorchRng& rng = position_.started();
    Batch batch = make_batch(batch_size, block_size());
    const auto& train = of(Split::train);
    for (std::int64_t row = 0; row < batch_size; ++row)
      fill(batch, row, train[rng.randint(std::ssize(train))]);
    return batch;
  }

  std::int64_t examples(Split split) const override {
    return std::ssize(of(split));
  }

  Batch evaluation(Split split, std::int64_t first,
                   std::int64_t count) const override {
    check_range(first, count, examples(split));
    Batch batch = make_batch(count, block_size());
    for (std::int64_t row = 0; row < count; ++row)
      fill(batch, row, of(split)[first + row]);
    return batch;
  }

  std::string prompt(std::int64_t) const override { return ""; }

  std::string judge(std::string_view text) const override {
    std::call_once(sorted_once_, [this] { sort_lines(); });
    const auto found = std::lower_bound(
        sorted_.begin(), sorted_.end(), text,
        [this](std::int64_t i, std::string_view t) { return lines_[i] < t; });
    if (found == sorted_.end() || lines_[*found] != text) return "new";
    return held_out_[*found] ? "in validation" : "in train";
  }

  std::string state() const override { return position_.str(); }
  void set_state(const std::string& state) override { position_.set(state); }

 private:
  std::string joined() const {
    std::string all;
    for (const std::string_view line : lines_) all += line;
    return all;
  }

  void encode() {
    for (const std::string_view line : lines_) try {
        items_.add(tokenizer_->encode(line));
      } catch (const Error& error) {
        fail_input("{}: item {}: {}", title_, quote(line), error.what());
      }
  }

  void split(double fraction, TorchRng& rng) {
    const std::int64_t n = items_.size();
    const std::int64_t held_out =
        std::min(kMostValidation,
                 static_cast<std::int64_t>(static_cast<double>(n) * fraction));
    std::vector<std::int64_t> order = rng.randperm(n);
    const auto middle = order.end() - held_out;
    splits_[0].assign(order.begin(), middle);
    splits_[1].assign(middle, order.end());
    held_out_.resize(static_cast<std::size_t>(n));
    for (const std::int64_t i : splits_[1]) held_out_[i] = true;
    position_.fingerprint =
        io::checksum(items_.checksum() +
                     std::string(reinterpret_cast<const char*>(order.data()),
                                 order.size() * sizeof order[0]));
  }

  // An item that is there twice may lie in both splits: train comes first.
  void sort_lines() const {
    sorted_.resize(lines_.size());
    std::iota(sorted_.begin(), sorted_.end(), 0);
    std::sort(sorted_.begin(), sorted_.end(), [this](auto a, auto b) {
      return lines_[a] != lines_[b] ? lines_[a] < lines_[b]
                                    : held_out_[a] < held_out_[b];
    });
  }

  const std::vector<std::int64_t>& of(Split split) const {
    return splits_[split == Split::train ? 0 : 1];
  }

  void fill(Batch& batch, std::int64_t row, std::int64_t item) const {
    const std::int64_t offset = row * block_size();
    fill_row(items_.tokens(item), items_.targets(item),
             *tokenizer_->start_token(), block_size(),
             batch.ids.data<std::int64_t>() + offset,
             batch.targets.data<std::int64_t>() + offset);
  }

  std::shared_ptr<const std::string> text_;
  std::vector<std::string_view> lines_;  // of *text_
  std::string title_, dropped_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Items items_;
  std::array<std::vector<std::int64_t>, 2> splits_;  // indices into items_
  std::vector<bool> held_out_;
  Position position_;
  mutable std::once_flag sorted_once_;
  mutable std::vector<std::int64_t> sorted_;  // indices, by their text
};

bool all_a_to_z(std::string_view word) {
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return c >= 'a' && c <= 'z'; });
}

// ", 3 blank lines and 2 CR dropped"
std::string dropped(const PythonLines& lines) {
  std::string text;
  if (lines.blank > 0)
    text = fmt::format("{} blank line{}", grouped(lines.blank),
                       lines.blank == 1 ? "" : "s");
  if (lines.carriage_returns > 0)
    text += fmt::format("{}{} CR", text.empty() ? "" : " and ",
                        grouped(lines.carriage_returns));
  return text.empty() ? text : " (" + text + " dropped)";
}

}  // namespace

std::unique_ptr<Dataset> open_lines(const DataConfig& config,
                                    const OpenOptions& options, TorchRng& rng) {
  auto text = std::make_shared<std::string>(io::read_text_file(config.lines));
  PythonLines lines = python_lines(*text);
  if (lines.items.empty())
    fail_input("{}: no item in it: {} blank lines", config.lines, lines.blank);
  for (std::size_t i = 0; i < lines.items.size(); ++i)
    if (lines.items[i].size() > kLongestItem)
      fail_input(
          "{}: item {} of {} has {} bytes, more than {}: that is running "
          "text, not a list; train on it with --text",
          config.lines, i + 1, lines.items.size(), lines.items[i].size(),
          kLongestItem);
  const std::string gone = dropped(lines);
  return std::make_unique<Lines>(std::move(text), std::move(lines.items),
                                 config.lines, gone, config, options, rng);
}

std::unique_ptr<Dataset> open_words(const DataConfig& config,
                                    const OpenOptions& options, TorchRng& rng) {
  if (std::error_code ignored; !std::filesystem::exists(kWordList, ignored))
    throw WordListMissing(
        ErrorKind::input,
        fmt::format("{}: the English words are missing: install wamerican, or "
                    "give lines, a text or a task to train on",
                    kWordList));
  auto text = std::make_shared<std::string>(io::read_text_file(kWordList));
  PythonLines lines = python_lines(*text);
  std::erase_if(lines.items, [](auto word) { return !all_a_to_z(word); });
  if (lines.items.empty()) fail_input("{}: no word in it", kWordList);
  return std::make_unique<Lines>(std::move(text), std::move(lines.items),
                                 "English words", " of a to z", config, options,
                                 rng);
}

}  // namespace qkv::data
