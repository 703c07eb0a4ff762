#include "cli/lab/words.h"

#include <algorithm>

#include "qkv/ops.h"

namespace qkv::cli::lab {

std::unique_ptr<data::Dataset> open_words(std::uint64_t seed,
                                          std::int64_t window) {
  TorchRng rng(seed);
  std::unique_ptr<data::Dataset> words;
  try {
    words = data::open({.window = window}, {}, rng);
  } catch (const data::WordListMissing&) {
    words = data::open({.task = "sort"}, {}, rng);
  }
  words->start(rng);
  return words;
}

Windows::Windows(std::int64_t window, std::uint64_t seed)
    : window_(window), data_(open_words(seed, window)) {}

data::Batch Windows::next(std::int64_t count) {
  return cut(data_->next(count));
}

data::Batch Windows::held_out(std::int64_t count) const {
  const std::int64_t all = data_->examples(data::Split::validation);
  return cut(
      data_->evaluation(data::Split::validation, 0, std::min(count, all)));
}

// Of lines longer than a window their end, which a task asks for.
data::Batch Windows::cut(const data::Batch& batch) const {
  const std::int64_t length = batch.ids.dim(1), asked = batch.targets.dim(1);
  return {slice(batch.ids, 1, length - window_, length).clone(),
          slice(batch.targets, 1, asked - 1, asked).clone()};
}

}  // namespace qkv::cli::lab
