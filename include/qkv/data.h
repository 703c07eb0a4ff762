// Data sets: what a model trains on, batch by batch, and is measured on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/error.h"
#include "qkv/export.h"
#include "qkv/fields.h"
#include "qkv/rng.h"
#include "qkv/tensor.h"
#include "qkv/tokenizer.h"

namespace qkv::data {

// ids (B,T), targets (B,S) of the last S positions, i64; a target of kIgnore
// (-1) does not count.
struct Batch {
  Tensor ids, targets;
};

enum class Split { train, validation, test };

class QKV_API Dataset {
 public:
  virtual ~Dataset();
  virtual std::string_view kind() const = 0;  // "lines", "text", "task"
  // One line for people: what, how many examples or tokens in each split.
  virtual std::string describe() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual std::int64_t block_size() const = 0;  // T of its batches

  // Takes from the run's generator what the training order depends on. Once,
  // after the weights were drawn from it: so the order is PyTorch's.
  virtual void start(TorchRng& rng) = 0;
  // The next training batch. Depends on the seed and on how many came before.
  virtual Batch next(std::int64_t batch_size) = 0;

  // Examples of a split in a fixed order; for running text, windows that do not
  // overlap. evaluation() gives those in [first, first + count).
  virtual std::int64_t examples(Split split) const = 0;
  virtual Batch evaluation(Split split, std::int64_t first,
                           std::int64_t count) const = 0;

  // The i-th prompt to look at while training, for any i from 0; empty: from
  // the start token, or whatever a text begins with.
  virtual std::string prompt(std::int64_t i) const = 0;
  // What a generated text is: "in train", "in validation", "new"; for a task
  // "right" or "wrong, 123 is right"; empty where nothing can be said.
  virtual std::string judge(std::string_view text) const = 0;

  // The position in the training data, for exact resume: as text. set_state
  // throws when the data are not those of the text. It stands for start(), too.
  virtual std::string state() const = 0;
  virtual void set_state(const std::string& state) = 0;
};

// Which lines are held out. makemore: validation_fraction of them, at most
// 1000, by the run's generator. lecture: a tenth to validate on and a tenth to
// test on, by CPython's shuffle under seed 42.
enum class SplitRule { makemore, lecture };

}  // namespace qkv::data

template <>
struct qkv::EnumNames<qkv::data::Split> {
  static constexpr std::string_view names[] = {"train", "validation", "test"};
};
template <>
struct qkv::EnumNames<qkv::data::SplitRule> {
  static constexpr std::string_view names[] = {"makemore", "lecture"};
};

namespace qkv::data {

// What to train on: a file of items, a running text or a task; none of them:
// English words.
struct DataConfig {
  std::string lines = {};
  std::string text = {};
  std::string validation_text = {};
  double validation_fraction = 0.1;
  SplitRule split = SplitRule::makemore;
  std::int64_t window = 0;
  std::string task = {};
  std::int64_t task_length = 0;
  std::int64_t task_symbols = 0;
};

template <class Visitor>
void visit_fields(Visitor&& visit, DataConfig& c) {
  visit(c.lines, Field{"lines", "file with an item a line: names, words"});
  visit(c.text, Field{"text", "file of running text"});
  visit(
      c.validation_text,
      Field{"validation_text",
            "file of running text to validate on, instead of the text's end"});
  visit(c.validation_fraction,
        Field{"validation_fraction",
              "held out to validate on: of lines at random, 1000 at most; of a "
              "text its end",
              0, 0.9});
  visit(c.split,
        Field{"split",
              "of lines: makemore's, or the lecture's in three, shuffled as "
              "Python does under seed 42"});
  visit(c.window,
        Field{"window",
              "of lines: examples of so many tokens and the next one, as the "
              "lectures on the MLP; 0: whole items",
              0, 16384});
  visit(c.task, Field{"task", "questions made up on the spot"});
  visit(c.task_length,
        Field{"task_length", "symbols of a task's question, 0: its default", 0,
              1000});
  visit(c.task_symbols,
        Field{"task_symbols", "different symbols of a task, 0: its default", 0,
              26});
}

struct OpenOptions {
  std::int64_t block_size = 64;  // T of running text; items bring their own
  // Of the model to go on with; null: one is made from the data.
  std::shared_ptr<const Tokenizer> tokenizer = {};
};

// The English words are not installed: a program may take something else.
class QKV_API WordListMissing : public Error {
 public:
  using Error::Error;
};
inline constexpr const char* kWordList = "/usr/share/dict/american-english";

// Reads and checks everything. rng draws which lines are held out, as makemore
// does: call it before the model is made from the same generator. Throws naming
// the file or field when something is missing, too short, or not text.
QKV_API std::unique_ptr<Dataset> open(const DataConfig& config,
                                      const OpenOptions& options,
                                      TorchRng& rng);

// A text to measure a model on: all of it, at least two tokens, is the
// validation split, in windows of block_size. It has nothing to train on.
QKV_API std::unique_ptr<Dataset> text_for_evaluation(
    const std::string& path, std::shared_ptr<const Tokenizer> tokenizer,
    std::int64_t block_size);

}  // namespace qkv::data
