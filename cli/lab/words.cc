#include "cli/lab/words.h"

#include <algorithm>
#include <filesystem>
#include <vector>

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

data::Batch held_out(const data::Dataset& data, std::int64_t count) {
  constexpr auto kSplit = data::Split::validation;
  return data.evaluation(kSplit, 0, std::min(count, data.examples(kSplit)));
}

std::string note_on_words() {
  std::error_code ignored;
  if (std::filesystem::exists(data::kWordList, ignored)) return "";
  return " (Of English words, that is. They are not installed here, so the "
         "numbers are of the task 'sort'; the package wamerican has them.)";
}

Windows::Windows(std::int64_t window, std::uint64_t seed)
    : window_(window), data_(open_words(seed, window)) {}

data::Batch Windows::next(std::int64_t count) {
  return cut(data_->next(count));
}

data::Batch Windows::held_out(std::int64_t count) const {
  return cut(lab::held_out(*data_, count));
}

// Of a task, whose lines are longer: the first answer of the first row, the
// second of the second, and so on.
data::Batch Windows::cut(const data::Batch& batch) const {
  const std::int64_t rows = batch.ids.dim(0), length = batch.ids.dim(1),
                     asked = batch.targets.dim(1);
  const auto ids = batch.ids.to_vector<std::int64_t>();
  const auto targets = batch.targets.to_vector<std::int64_t>();
  data::Batch cut{Tensor::empty({rows, window_}, DType::i64),
                  Tensor::empty({rows}, DType::i64)};
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::int64_t> answers;  // of this row, where in it
    for (std::int64_t at = 0; at < asked; ++at)
      if (targets[static_cast<std::size_t>(row * asked + at)] != kIgnore)
        answers.push_back(at);
    const std::int64_t at =
        answers[static_cast<std::size_t>(row % std::ssize(answers))];
    // The last token before the answer stands at length - asked + at.
    const std::int64_t first = length - asked + at + 1 - window_;
    std::copy_n(ids.begin() + row * length + first, window_,
                cut.ids.data<std::int64_t>() + row * window_);
    cut.targets.data<std::int64_t>()[row] =
        targets[static_cast<std::size_t>(row * asked + at)];
  }
  return cut;
}

}  // namespace qkv::cli::lab
