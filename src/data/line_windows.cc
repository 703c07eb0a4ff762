#include "data/line_windows.h"

#include <algorithm>

#include "core/check.h"
#include "core/text.h"

namespace qkv::data {

LineWindows::LineWindows(std::shared_ptr<const LineList> list,
                         std::int64_t window)
    : ListDataset(std::move(list)), window_(window) {
  const auto boundary =
      static_cast<std::int32_t>(*list_->tokenizer().start_token());
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    auto& stream = streams_[static_cast<std::size_t>(split)];
    auto& begins = begins_[static_cast<std::size_t>(split)];
    for (const std::int64_t item : list_->of(split)) {
      const auto tokens = list_->items().tokens(item);
      for (std::size_t e = 0; e <= tokens.size(); ++e)
        begins.push_back(std::ssize(stream) + static_cast<std::int64_t>(e));
      stream.insert(stream.end(), static_cast<std::size_t>(window_), boundary);
      stream.insert(stream.end(), tokens.begin(), tokens.end());
      stream.push_back(boundary);
    }
  }
  position_.fingerprint =
      fmt::format("{} windows of {}", list_->fingerprint(), window_);
}

std::string LineWindows::describe() const {
  return fmt::format("{}; {} examples of {} tokens to train on",
                     list_->describe(), grouped(examples(Split::train)),
                     window_);
}

std::int64_t LineWindows::examples(Split split) const {
  return std::ssize(begins_[static_cast<std::size_t>(split)]);
}

Batch LineWindows::next(std::int64_t batch_size) {
  TorchRng& rng = position_.started();
  Batch batch = make(batch_size);
  const std::int64_t n = examples(Split::train);
  for (std::int64_t row = 0; row < batch_size; ++row)
    fill(batch, row, Split::train, rng.randint(n));
  return batch;
}

Batch LineWindows::evaluation(Split split, std::int64_t first,
                              std::int64_t count) const {
  check_range(first, count, examples(split));
  Batch batch = make(count);
  for (std::int64_t row = 0; row < count; ++row)
    fill(batch, row, split, first + row);
  return batch;
}

Batch LineWindows::make(std::int64_t rows) const {
  Batch batch = make_batch(rows, window_);
  batch.targets = Tensor::empty({rows, 1}, DType::i64);
  return batch;
}

void LineWindows::fill(Batch& batch, std::int64_t row, Split split,
                       std::int64_t example) const {
  const auto at = static_cast<std::size_t>(split);
  const std::int32_t* from =
      streams_[at].data() + begins_[at][static_cast<std::size_t>(example)];
  std::copy_n(from, window_, batch.ids.data<std::int64_t>() + row * window_);
  batch.targets.data<std::int64_t>()[row] = from[window_];
}

}  // namespace qkv::data
