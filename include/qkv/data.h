// Data sets: what a model trains on, batch by batch, and is measured on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/export.h"
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

  // The position in the training data, for exact resume: as text.
  virtual std::string state() const = 0;
  virtual void set_state(const std::string& state) = 0;
};

}  // namespace qkv::data
