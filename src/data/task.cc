#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/check.h"
#include "core/fields_json.h"
#include "core/text.h"
#include "data/items.h"
#include "data/kinds.h"
#include "data/position.h"
#include "data/task_kinds.h"
#include "qkv/io.h"

namespace qkv::data {
namespace {

constexpr std::int64_t kExamples = 1000;  // of each split, to evaluate on
constexpr std::uint64_t kExampleSeeds[] = {1, 2};
constexpr int kMostDraws = 10'000;  // for one question of a split

const TaskKind& find_task(const std::string& name) {
  std::vector<std::string> names;
  for (const TaskKind& kind : task_kinds()) {
    if (kind.name == name) return kind;
    names.emplace_back(kind.name);
  }
  fail_input("there is no task {}; there are {}{}", quote(name),
             fmt::join(names, ", "), did_you_mean(name, names));
}

std::int64_t choose(std::string_view name, std::string_view field,
                    std::int64_t wanted, std::int64_t least, std::int64_t usual,
                    std::int64_t most) {
  if (wanted == 0) return usual;
  if (wanted < least || wanted > most)
    fail_input("task {}: {} must be {} to {}, not {}", name, field, least, most,
               wanted);
  return wanted;
}

TaskShape choose_shape(const TaskKind& kind, const DataConfig& config) {
  const auto& [l, u, m] = std::tie(kind.least, kind.usual, kind.most);
  return {choose(kind.name, "task_length", config.task_length, l.length,
                 u.length, m.length),
          choose(kind.name, "task_symbols", config.task_symbols, l.symbols,
                 u.symbols, m.symbols)};
}

// A quarter of all questions, by their text, is never trained on.
Split split_of(std::string_view question) {
  const std::uint64_t hash = stream_id(question);
  const auto mixed = philox4x32({static_cast<std::uint32_t>(hash),
                                 static_cast<std::uint32_t>(hash >> 32), 0, 0},
                                {0, 0});
  return mixed[0] % 4 == 0 ? Split::validation : Split::train;
}

class Task final : public Dataset {
 public:
  Task(const TaskKind& kind, const TaskShape& shape, const OpenOptions& options)
      : kind_(kind),
        shape_(shape),
        tokenizer_(options.tokenizer
                       ? options.tokenizer
                       : character_tokenizer(kind.alphabet(shape), true)) {
    learn_alphabet();
    for (int split = 0; split < 2; ++split) {
      TorchRng rng(kExampleSeeds[split]);
      for (std::int64_t i = 0; i < kExamples; ++i) {
        draw(split == 0 ? Split::train : Split::validation, rng);
        examples_[split].add(tokenizer_->encode(text_), targets_);
      }
    }
    block_size_ = std::max(examples_[0].longest(), examples_[1].longest()) +
                  (kind_.stops ? 1 : 0);
    position_.fingerprint =
        io::checksum(examples_[0].checksum() + examples_[1].checksum());
  }

  std::string_view kind() const override { return "task"; }

  std::string describe() const override {
    return fmt::format(
        "task {}: {}; {} symbols of {}, {} different tokens; a quarter of the "
        "questions is held out, {} are validated on",
        kind_.name, kind_.help, shape_.length, shape_.symbols,
        tokenizer_->vocab_size(), grouped(kExamples));
  }

  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  std::int64_t block_size() const override { return block_size_; }
  void start(TorchRng& rng) override { position_.rng = rng; }

  Batch next(std::int64_t batch_size) override {
    TorchRng& rng = position_.started();
    Batch batch = make_batch(batch_size, block_size_);
    for (std::int64_t row = 0; row < batch_size; ++row) {
      draw(Split::train, rng);
      tokens_.clear();
      for (const char c : text_)
        tokens_.push_back(id_of_[static_cast<unsigned char>(c)]);
      fill(batch, row, tokens_, targets_);
    }
    return batch;
  }

  std::int64_t examples(Split split) const override {
    return split == Split::test ? 0 : kExamples;
  }

  Batch evaluation(Split split, std::int64_t first,
                   std::int64_t count) const override {
    check_range(first, count, examples(split));
    Batch batch = make_batch(count, block_size_);
    const Items& items = examples_[split == Split::train ? 0 : 1];
    for (std::int64_t row = 0; row < count; ++row)
      fill(batch, row, items.tokens(first + row), items.targets(first + row));
    return batch;
  }

  std::string prompt(std::int64_t i) const override {
    const auto tokens = examples_[1].tokens(i % kExamples);
    const auto first = examples_[1].targets(i % kExamples).first;
    const std::vector<std::int64_t> ids(tokens.begin(), tokens.begin() + first);
    return tokenizer_->decode(ids);
  }

  std::string judge(std::string_view text) const override {
    const std::int64_t question = kind_.question(shape_, text);
    if (question == 0) return "";
    std::string right(text.substr(0, static_cast<std::size_t>(question)));
    kind_.answer(shape_, right);
    if (!kind_.stops) {
      // It has no end: what there is of it counts.
      const std::size_t n = std::min(right.size(), text.size());
      right.resize(n);
      text = text.substr(0, n);
    }
    if (text == right) return "right";
    return "wrong, " + right.substr(static_cast<std::size_t>(question)) +
           " is right";
  }

  std::string state() const override { return position_.str(); }
  void set_state(const std::string& state) override { position_.set(state); }

 private:
  // The ids of the task's characters, all of them ASCII.
  void learn_alphabet() {
    if (!tokenizer_->start_token())
      fail_input("task {}: the tokenizer has no start token, which tasks need",
                 kind_.name);
    for (const char c : kind_.alphabet(shape_)) {
      const auto ids = tokenizer_->encode(std::string_view(&c, 1));
      id_of_[static_cast<unsigned char>(c)] =
          static_cast<std::int32_t>(ids.at(0));
    }
  }

  // Makes text_ a question of the split with its answer, and targets_.
  void draw(Split split, TorchRng& rng) {
    for (int i = 0; i < kMostDraws; ++i) {
      text_.clear();
      kind_.ask(shape_, rng, text_);
      if (split_of(text_) != split) continue;
      targets_ = {.first = std::ssize(text_) + kind_.given,
                  .stop = kind_.stops};
      kind_.answer(shape_, text_);
      return;
    }
    fail_input(
        "task {}: too few different questions to hold some out; raise "
        "task_length or task_symbols",
        kind_.name);
  }

  void fill(Batch& batch, std::int64_t row,
            std::span<const std::int32_t> tokens,
            const ItemTargets& targets) const {
    fill_row(tokens, targets, *tokenizer_->start_token(), block_size_,
             batch.ids.data<std::int64_t>() + row * block_size_,
             batch.targets.data<std::int64_t>() + row * block_size_);
  }

  const TaskKind& kind_;
  TaskShape shape_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::array<std::int32_t, 128> id_of_{};
  std::array<Items, 2> examples_;  // of each split
  std::int64_t block_size_ = 0;
  Position position_;
  // Of the question drawn last; kept for their memory.
  std::string text_;
  std::vector<std::int32_t> tokens_;
  ItemTargets targets_;
};

}  // namespace

std::unique_ptr<Dataset> open_task(const DataConfig& config,
                                   const OpenOptions& options, TorchRng&) {
  const TaskKind& kind = find_task(config.task);
  return std::make_unique<Task>(kind, choose_shape(kind, config), options);
}

}  // namespace qkv::data
