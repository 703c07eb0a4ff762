// Data sets: what a model trains on, batch by batch, and is measured on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/export.h"
#include "qkv/fields.h"
#include "qkv/tensor.h"
#include "qkv/tokenizer.h"

namespace qkv::data {

// ids and targets (B,T) i64; a target of kIgnore (-1) does not count.
struct Batch {
  Tensor ids, targets;
};

enum class Split { train, validation };

class QKV_API Dataset {
 public:
  virtual ~Dataset();
  virtual std::string_view kind() const = 0;  // "lines", "text", "task"
  // One line for people: what, how many examples or tokens in each split.
  virtual std::string describe() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual std::int64_t block_size() const = 0;  // T of its batches

  // The next training batch. Depends on the seed and on how many came before.
  virtual Batch next(std::int64_t batch_size) = 0;

  // Examples of a split in a fixed order; for running text, windows that do not
  // overlap. evaluation() gives those in [first, first + count).
  virtual std::int64_t examples(Split split) const = 0;
  virtual Batch evaluation(Split split, std::int64_t first,
                           std::int64_t count) const = 0;

  // Which split has this item (a word of "lines"); none for data without items.
  virtual std::optional<Split> find(std::string_view item) const;

  // The position in the training data, for exact resume: as text.
  virtual std::string state() const = 0;
  virtual void set_state(const std::string& state) = 0;
};

enum class TaskKind { sort, reverse, copy, add, induction };

// Where the data comes from: one of lines, text and task. All empty: the
// program's default word list.
struct DataConfig {
  std::string lines;       // a file, an item a line
  std::string text;        // a file of running text
  std::string validation;  // a file of its own for validation
  std::string task;        // a generated task by its name
  double validation_fraction = 0.1;
  std::int64_t task_length = 6;
  std::int64_t task_symbols = 3;
};

// block_size: the wanted context, 0 for the data's own (lines and tasks have
// one). Throws, before anything is trained, naming file and value.
QKV_API std::unique_ptr<Dataset> open_dataset(const DataConfig& config,
                                              std::int64_t block_size,
                                              std::int64_t seed);

}  // namespace qkv::data

namespace qkv {

template <>
struct EnumNames<data::TaskKind> {
  static constexpr std::string_view names[] = {"sort", "reverse", "copy", "add",
                                               "induction"};
};

template <class Visitor>
void visit_fields(Visitor&& visit, data::DataConfig& c) {
  visit(c.lines, Field{"lines", "train on this file, an item a line"});
  visit(c.text, Field{"text", "train on this file of running text"});
  visit(c.validation,
        Field{"validation", "validate on this file instead of a part"});
  visit(c.task, Field{"task",
                      "train on a generated task: sort, reverse, copy, "
                      "add or induction"});
  visit(c.validation_fraction,
        Field{"validation_fraction", "share of the text kept for validation", 0,
              0.9});
  visit(c.task_length, Field{"task_length",
                             "symbols (digits for add) of an "
                             "example",
                             1, 4096});
  visit(c.task_symbols,
        Field{"task_symbols", "different symbols of a task", 2, 62});
}

}  // namespace qkv
