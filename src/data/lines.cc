#include <algorithm>
#include <filesystem>

#include "core/check.h"
#include "core/text.h"
#include "data/kinds.h"
#include "data/line_list.h"
#include "data/line_windows.h"
#include "data/python_lines.h"
#include "qkv/io.h"

namespace qkv::data {
namespace {

// Bytes of an item: the longest decides every batch's length, and attention
// costs its square.
constexpr std::size_t kLongestItem = 16384;

// Whole items, each a row of a batch, as makemore trains on them.
class Lines final : public ListDataset {
 public:
  explicit Lines(std::shared_ptr<const LineList> list)
      : ListDataset(std::move(list)) {
    position_.fingerprint = list_->fingerprint();
  }

  std::string describe() const override { return list_->describe(); }
  std::int64_t block_size() const override {
    return list_->items().longest() + 1;
  }

  // Two numbers, as makemore's loader takes them: one that it has no use for
  // here, and the seed of the generator that chooses the items.
  void start(TorchRng& rng) override {
    rng.random63();
    position_.rng.emplace(static_cast<std::uint64_t>(rng.random63()));
  }

  Batch next(std::int64_t batch_size) override {
    TorchRng& rng = position_.started();
    Batch batch = make_batch(batch_size, block_size());
    const auto& train = list_->of(Split::train);
    for (std::int64_t row = 0; row < batch_size; ++row)
      fill(batch, row, train[rng.randint(std::ssize(train))]);
    return batch;
  }

  std::int64_t examples(Split split) const override {
    return std::ssize(list_->of(split));
  }

  Batch evaluation(Split split, std::int64_t first,
                   std::int64_t count) const override {
    check_range(first, count, examples(split));
    Batch batch = make_batch(count, block_size());
    for (std::int64_t row = 0; row < count; ++row)
      fill(batch, row, list_->of(split)[first + row]);
    return batch;
  }

 private:
  void fill(Batch& batch, std::int64_t row, std::int64_t item) const {
    const std::int64_t offset = row * block_size();
    fill_row(list_->items().tokens(item), list_->items().targets(item),
             *tokenizer().start_token(), block_size(),
             batch.ids.data<std::int64_t>() + offset,
             batch.targets.data<std::int64_t>() + offset);
  }
};

std::unique_ptr<Dataset> as_configured(std::shared_ptr<const LineList> list,
                                       const DataConfig& config) {
  if (config.window > 0)
    return std::make_unique<LineWindows>(std::move(list), config.window);
  return std::make_unique<Lines>(std::move(list));
}

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
  return as_configured(
      std::make_shared<LineList>(std::move(text), std::move(lines.items),
                                 config.lines, gone, config, options, rng),
      config);
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
  return as_configured(std::make_shared<LineList>(
                           std::move(text), std::move(lines.items),
                           "English words", " of a to z", config, options, rng),
                       config);
}

}  // namespace qkv::data
