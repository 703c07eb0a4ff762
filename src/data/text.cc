#include "core/text.h"

#include <algorithm>
#include <array>

#include "core/check.h"
#include "data/items.h"
#include "data/kinds.h"
#include "data/position.h"
#include "qkv/io.h"
#include "qkv/ops.h"

namespace qkv::data {
namespace {

class Text final : public Dataset {
 public:
  // To train on.
  Text(const DataConfig& config, const OpenOptions& options)
      : Text(config.text, options.tokenizer, options.block_size) {
    const std::string text = io::read_text_file(config.text);
    carriage_returns_ = std::count(text.begin(), text.end(), '\r');
    std::string validation;
    if (!config.validation_text.empty())
      validation = io::read_text_file(config.validation_text);
    // As nanoGPT: the characters of all the text, not of its training part.
    if (!tokenizer_) tokenizer_ = character_tokenizer(text + validation, false);
    tokens_[0] = encode(text, config.text);
    if (std::ssize(tokens_[0]) <= block_size_)
      fail_input("{}: need >= {} tokens for a context of {}, have {}", path_,
                 block_size_ + 1, block_size_, tokens_[0].size());
    if (!config.validation_text.empty())
      tokens_[1] = encode(validation, config.validation_text);
    else
      split(config.validation_fraction);
    check_validation(config);
    count_untrained();
    position_.fingerprint =
        io::checksum(bytes_of(0)) + io::checksum(bytes_of(1));
  }

  // To validate on.
  static std::unique_ptr<Dataset> for_evaluation(
      const std::string& path, std::shared_ptr<const Tokenizer> tokenizer,
      std::int64_t block_size) {
    std::unique_ptr<Text> d(new Text(path, std::move(tokenizer), block_size));
    d->tokens_[1] = d->encode(io::read_text_file(path), path);
    if (d->tokens_[1].size() < 2)
      fail_input("{}: need >= 2 tokens to measure on, have {}", path,
                 d->tokens_[1].size());
    return d;
  }

  std::string_view kind() const override { return "text"; }

  std::string describe() const override {
    return fmt::format(
        "{}: {} tokens, {} different{}; {} to train on, {} to validate on{}",
        path_, grouped(std::ssize(tokens_[0]) + std::ssize(tokens_[1])),
        tokenizer_->vocab_size(),
        untrained_ > 0 ? fmt::format(" ({} not in the part to train on)",
                                     grouped(untrained_))
                       : "",
        grouped(std::ssize(tokens_[0])),
        tokens_[1].empty() ? "none" : grouped(std::ssize(tokens_[1])),
        carriage_returns_ > 0
            ? fmt::format("; {} CR kept", grouped(carriage_returns_))
            : "");
  }

  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  std::int64_t block_size() const override { return block_size_; }

  // As nanoGPT and the lecture: batches go on with the generator that drew the
  // weights.
  void start(TorchRng& rng) override { position_.rng = rng; }

  Batch next(std::int64_t batch_size) override {
    TorchRng& rng = position_.started();
    const std::int64_t offsets = std::ssize(tokens_[0]) - block_size_;
    if (offsets < 1) fail_internal("[data] {} is for evaluation only", path_);
    Batch batch = make_batch(batch_size, block_size_);
    for (std::int64_t row = 0; row < batch_size; ++row)
      fill(batch, row, tokens_[0], rng.randint(offsets));
    return batch;
  }

  // Windows side by side: every token but the first is asked for once.
  std::int64_t examples(Split split) const override {
    return (std::max<std::int64_t>(std::ssize(of(split)), 1) - 1 + block_size_ -
            1) /
           block_size_;
  }

  Batch evaluation(Split split, std::int64_t first,
                   std::int64_t count) const override {
    check_range(first, count, examples(split));
    Batch batch = make_batch(count, block_size_);
    for (std::int64_t row = 0; row < count; ++row)
      fill(batch, row, of(split), (first + row) * block_size_);
    return batch;
  }

  // A new line, where the text has one; else its first token.
  std::string prompt(std::int64_t) const override {
    try {
      static_cast<void>(tokenizer_->encode("\n"));
      return "\n";
    } catch (const Error&) {
      const auto& tokens = tokens_[0].empty() ? tokens_[1] : tokens_[0];
      return tokenizer_->decode(std::array{std::int64_t{tokens[0]}});
    }
  }

  std::string judge(std::string_view) const override { return ""; }
  std::string state() const override { return position_.str(); }
  void set_state(const std::string& state) override { position_.set(state); }

 private:
  Text(std::string path, std::shared_ptr<const Tokenizer> tokenizer,
       std::int64_t block_size)
      : path_(std::move(path)),
        block_size_(block_size),
        tokenizer_(std::move(tokenizer)) {
    if (block_size_ < 1)
      fail_input("the block size must be at least 1, not {}", block_size_);
  }

  std::vector<std::int32_t> encode(const std::string& text,
                                   const std::string& path) const {
    try {
      const std::vector<std::int64_t> ids = tokenizer_->encode(text);
      return {ids.begin(), ids.end()};
    } catch (const Error& error) {
      fail_input("{}: {}", path, error.what());
    }
  }

  void split(double fraction) {
    std::vector<std::int32_t>& train = tokens_[0];
    const auto kept = static_cast<std::int64_t>(
        (1 - fraction) * static_cast<double>(train.size()));
    tokens_[1].assign(train.begin() + kept, train.end());
    const std::size_t all = train.size();
    train.resize(static_cast<std::size_t>(kept));
    if (kept <= block_size_)
      fail_input(
          "{}: need >= {} tokens to train on with a context of {}, have "
          "{} of {}: the rest is held out; give more text, or a smaller "
          "block_size or validation_fraction",
          path_, block_size_ + 1, block_size_, kept, all);
  }

  void check_validation(const DataConfig& config) const {
    if (tokens_[1].size() >= 2) return;
    if (!config.validation_text.empty())
      fail_input("{}: need >= 2 tokens to validate on, have {}",
                 config.validation_text, tokens_[1].size());
    if (config.validation_fraction > 0)
      fail_input(
          "{}: need >= 2 tokens to validate on, have {} of {}; raise "
          "validation_fraction, or make it 0 for no validation",
          path_, tokens_[1].size(), tokens_[0].size() + tokens_[1].size());
  }

  void count_untrained() {
    std::vector<bool> trained(
        static_cast<std::size_t>(tokenizer_->vocab_size()));
    for (const std::int32_t id : tokens_[0]) trained[id] = true;
    untrained_ = std::count(trained.begin(), trained.end(), false);
  }

  const std::vector<std::int32_t>& of(Split split) const {
    return tokens_[static_cast<std::size_t>(split)];
  }

  std::string_view bytes_of(int split) const {
    return {reinterpret_cast<const char*>(tokens_[split].data()),
            tokens_[split].size() * sizeof tokens_[split][0]};
  }

  // The window from `offset`; past the text's end id 0 and no target.
  void fill(Batch& batch, std::int64_t row,
            const std::vector<std::int32_t>& tokens,
            std::int64_t offset) const {
    std::int64_t* x = batch.ids.data<std::int64_t>() + row * block_size_;
    std::int64_t* y = batch.targets.data<std::int64_t>() + row * block_size_;
    const std::int64_t n =
        std::min(block_size_, std::ssize(tokens) - 1 - offset);
    std::copy_n(tokens.begin() + offset, n, x);
    std::copy_n(tokens.begin() + offset + 1, n, y);
    std::fill(x + n, x + block_size_, 0);
    std::fill(y + n, y + block_size_, kIgnore);
  }

  std::string path_;
  std::int64_t block_size_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::int64_t carriage_returns_ = 0;
  std::int64_t untrained_ = 0;  // tokens that the training part lacks
  std::array<std::vector<std::int32_t>, 3> tokens_;  // of each split
  Position position_;
};

}  // namespace

std::unique_ptr<Dataset> open_text(const DataConfig& config,
                                   const OpenOptions& options, TorchRng&) {
  return std::make_unique<Text>(config, options);
}

std::unique_ptr<Dataset> text_for_evaluation(
    const std::string& path, std::shared_ptr<const Tokenizer> tokenizer,
    std::int64_t block_size) {
  return Text::for_evaluation(path, std::move(tokenizer), block_size);
}

}  // namespace qkv::data
