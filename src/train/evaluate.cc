#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "qkv/autograd.h"
#include "qkv/train.h"

namespace qkv {
namespace {

constexpr std::int64_t kBatch = 256;  // examples read at once when counting

// Calls body(id, target) for every counted target of a split.
template <class Body>
void for_each_pair(const data::Dataset& dataset, data::Split split,
                   Body&& body) {
  const std::int64_t examples = dataset.examples(split);
  for (std::int64_t first = 0; first < examples; first += kBatch) {
    const data::Batch batch =
        dataset.evaluation(split, first, std::min(kBatch, examples - first));
    const auto* ids = batch.ids.data<std::int64_t>();
    const auto* targets = batch.targets.data<std::int64_t>();
    // Targets are of the last positions.
    const std::int64_t length = batch.ids.dim(1), asked = batch.targets.dim(1);
    for (std::int64_t row = 0; row < batch.ids.dim(0); ++row)
      for (std::int64_t i = 0; i < asked; ++i)
        if (const std::int64_t target = targets[row * asked + i];
            target != kIgnore)
          body(ids[row * length + length - asked + i], target);
  }
}

std::int64_t bytes_of(const Tokenizer& tokenizer, const Tensor& targets) {
  std::int64_t bytes = 0;
  const auto* target = targets.data<std::int64_t>();
  for (std::int64_t i = 0; i < targets.numel(); ++i)
    if (target[i] != kIgnore)
      bytes +=
          static_cast<std::int64_t>(tokenizer.decode({target + i, 1}).size());
  return bytes;
}

}  // namespace

SplitLoss measure_loss(LanguageModel& model, const data::Dataset& dataset,
                       data::Split split, std::int64_t batch_size,
                       std::int64_t batches,
                       const std::function<bool()>& stop) {
  NoGrad no_grad;
  const std::int64_t examples = dataset.examples(split);
  const std::int64_t all = (examples + batch_size - 1) / batch_size;
  const std::int64_t count = batches > 0 ? std::min(batches, all) : all;
  SplitLoss result;
  double sum = 0;
  for (std::int64_t i = 0; i < count && !(stop && stop()); ++i) {
    // Spread evenly: batch number i·all/count of the split's batches in order.
    const std::int64_t first = i * all / count * batch_size;
    const data::Batch batch = dataset.evaluation(
        split, first, std::min(batch_size, examples - first));
    Context context;
    const Loss loss = model.loss(batch.ids, batch.targets, context);
    sum += loss.mean.item() * static_cast<double>(loss.tokens);
    result.tokens += loss.tokens;
    result.bytes += bytes_of(dataset.tokenizer(), batch.targets);
  }
  result.mean = result.tokens > 0 ? sum / static_cast<double>(result.tokens)
                                  : std::nan("");
  return result;
}

double counted_bigram_loss(const data::Dataset& dataset, data::Split split) {
  // Only pairs that occur are kept: a table of all would be the vocabulary
  // squared.
  const std::int64_t n = dataset.tokenizer().vocab_size();
  std::unordered_map<std::int64_t, std::int64_t> counts, totals;
  for_each_pair(dataset, data::Split::train,
                [&](std::int64_t id, std::int64_t target) {
                  ++counts[id * n + target];
                  ++totals[id];
                });
  const auto count_of = [](const auto& map, std::int64_t key) {
    const auto it = map.find(key);
    return it == map.end() ? 0.0 : static_cast<double>(it->second);
  };
  double sum = 0;
  std::int64_t pairs = 0;
  for_each_pair(dataset, split, [&](std::int64_t id, std::int64_t target) {
    sum -= std::log((count_of(counts, id * n + target) + 1) /
                    (count_of(totals, id) + static_cast<double>(n)));
    ++pairs;
  });
  return pairs > 0 ? sum / static_cast<double>(pairs) : std::nan("");
}

}  // namespace qkv
