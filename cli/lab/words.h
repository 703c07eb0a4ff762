// What experiments train on that need language: words as `qkv train` takes them
// by default; where these are not installed, the lines of the task 'sort'.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "qkv/data.h"

namespace qkv::cli::lab {

// Whole words, or windows where window is not 0. The order of the examples is
// drawn from the seed.
std::unique_ptr<data::Dataset> open_words(std::uint64_t seed,
                                          std::int64_t window = 0);

// The first so many of the validation split, or all where there are fewer.
data::Batch held_out(const data::Dataset& data, std::int64_t count);

// What a report says of the task where it stands in for words; else nothing.
std::string note_on_words();

// For the MLPs of the course: a few tokens and the one that follows.
class Windows {
 public:
  Windows(std::int64_t window, std::uint64_t seed);

  std::int64_t vocab_size() const { return data_->tokenizer().vocab_size(); }
  // ids (count, window), targets (count).
  data::Batch next(std::int64_t count);
  // The first so many of those held out.
  data::Batch held_out(std::int64_t count) const;

 private:
  data::Batch cut(const data::Batch& batch) const;

  std::int64_t window_;
  std::unique_ptr<data::Dataset> data_;
};

}  // namespace qkv::cli::lab
