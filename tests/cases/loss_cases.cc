#include <algorithm>
#include <cmath>

#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

// Every third target is ignored.
Tensor targets_for(std::int64_t rows, std::int64_t classes, TorchRng& rng) {
  Tensor targets = random_ids({rows}, classes, rng);
  for (std::int64_t i = 2; i < rows; i += 3)
    targets.data<std::int64_t>()[i] = kIgnore;
  return targets;
}

OpCase cross(const char* label, std::int64_t rows, std::int64_t classes) {
  return {
      .op = "cross_entropy",
      .label = label,
      .inputs =
          [=](DType dtype, TorchRng& rng) {
            return std::vector<Tensor>{normal({rows, classes}, dtype, rng),
                                       targets_for(rows, classes, rng)};
          },
      .run = [](const auto& in) { return cross_entropy(in[0], in[1]).mean; }};
}

OpCase head(const char* label, std::int64_t rows, std::int64_t width,
            std::int64_t classes, bool bias) {
  return {
      .op = "head_loss",
      .label = label,
      .inputs =
          [=](DType dtype, TorchRng& rng) {
            std::vector<Tensor> all{normal({rows, width}, dtype, rng),
                                    normal({classes, width}, dtype, rng),
                                    targets_for(rows, classes, rng)};
            if (bias) all.push_back(normal({classes}, dtype, rng));
            return all;
          },
      .run =
          [=](const auto& in) {
            return head_loss(in[0], in[1], bias ? in[3] : Tensor(), in[2]).mean;
          },
      .flops = 2.0 * static_cast<double>(rows * width * classes)};
}

// The same as cross with an axis more and a loss whose gradient is not 1.
const OpCase kTimesThree = {
    .op = "cross_entropy",
    .label = "Sequences",
    .inputs =
        [](DType dtype, TorchRng& rng) {
          return std::vector<Tensor>{
              normal({2, 4, 17}, dtype, rng),
              reshape(targets_for(8, 17, rng), Shape{2, 4})};
        },
    .run =
        [](const auto& in) {
          return scale(cross_entropy(in[0], in[1]).mean, 3);
        }};

// Every target ignored: the loss and its gradient are 0.
const OpCase kAllIgnored = {
    .op = "cross_entropy",
    .label = "AllIgnored",
    .inputs =
        [](DType dtype, TorchRng& rng) {
          Tensor targets = Tensor::empty({4}, DType::i64);
          std::fill_n(targets.data<std::int64_t>(), 4, kIgnore);
          return std::vector<Tensor>{normal({4, 9}, dtype, rng), targets};
        },
    .run = [](const auto& in) { return cross_entropy(in[0], in[1]).mean; },
    .sparse_gradients = true};

const AddCases kLosses({
    kTimesThree,
    kAllIgnored,
    cross("OneClass", 3, 1),
    cross("Odd", 7, 65),
    head("OneRow", 1, 17, 33, true),
    cross("Small", 5, 7),
    cross("Long", 3, 1003),
    cross("NothingCounts", 0, 4),
    head("Small", 5, 4, 7, true),
    head("NoBias", 9, 6, 3, false),
    head("TwoChunks", 300, 3, 5000, true),
});

OpCase gather(const char* label, Shape table, Shape ids) {
  return {.op = "embedding",
          .label = label,
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                return std::vector<Tensor>{normal(table, dtype, rng),
                                           random_ids(ids, table.dim(0), rng)};
              },
          .run = [](const auto& in) { return embedding(in[0], in[1]); },
          .sparse_gradients = ids.numel() == 0};
}

const AddCases kEmbedding({
    gather("IdsComeTwice", {6, 5}, {3, 7}),
    gather("Wide", {3, 131}, {40}),
    gather("OneId", {2, 9}, {}),
    gather("NoIds", {4, 3}, {2, 0}),
});

// With logits as those of a model: where they are far apart most of the
// softmax is denormal, and a processor takes ten times as long over it.
OpCase timed_head(const char* label, std::int64_t rows, std::int64_t width,
                  std::int64_t classes) {
  OpCase c = head(label, rows, width, classes, false);
  c.inputs = [make = c.inputs, width](DType dtype, TorchRng& rng) {
    std::vector<Tensor> all = make(dtype, rng);
    all[1] = scale(all[1], 1 / std::sqrt(static_cast<double>(width)));
    return all;
  };
  return c;
}

constexpr double kMany = 1024.0 * 4096;
const AddBenchmarks kTimes({
    // Backward reads the logits again and writes their gradient.
    moving(cross("1024x4096", 1024, 4096), kMany, 3 * kMany),
    timed_head("512x64 to 27", 512, 64, 27),
    timed_head("768x128 to 65", 768, 128, 65),
    timed_head("1024x384 to 8192", 1024, 384, 8192),
    // Backward reads as many rows and writes the table's gradient.
    moving(gather("8192x384", {8192, 384}, {8192}), 2.0 * 8192 * 384,
           4.0 * 8192 * 384),
});

}  // namespace
}  // namespace qkv::test
