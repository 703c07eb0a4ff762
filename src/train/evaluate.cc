#include <cmath>

#include "qkv/autograd.h"
#include "qkv/train.h"

namespace qkv {

double evaluate_loss(LanguageModel& model, const data::Dataset& dataset,
                     data::Split split, std::int64_t batch_size,
                     std::int64_t batches) {
  NoGrad no_grad;
  const std::int64_t examples = dataset.examples(split);
  const std::int64_t all = (examples + batch_size - 1) / batch_size;
  const std::int64_t count = batches > 0 ? std::min(batches, all) : all;
  double sum = 0;
  std::int64_t tokens = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    // Spread evenly: batch number i·all/count of the split's batches in order.
    const std::int64_t first = i * all / count * batch_size;
    const data::Batch batch = dataset.evaluation(
        split, first, std::min(batch_size, examples - first));
    Context context;
    const Loss loss = model.loss(batch.ids, batch.targets, context);
    sum += loss.mean.item() * static_cast<double>(loss.tokens);
    tokens += loss.tokens;
  }
  return tokens > 0 ? sum / static_cast<double>(tokens) : std::nan("");
}

}  // namespace qkv
