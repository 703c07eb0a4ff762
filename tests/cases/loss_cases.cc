#include "tests/cases/op_case.h"

namespace qkv::testing {
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
          }};
}

const AddCases kLosses({
    cross("Small", 5, 7),
    cross("Long", 3, 1003),
    cross("NothingCounts", 0, 4),
    head("Small", 5, 4, 7, true),
    head("NoBias", 9, 6, 3, false),
    head("TwoChunks", 300, 3, 5000, true),
});

const AddCases kEmbedding(
    {{.op = "embedding",
      .label = "IdsComeTwice",
      .inputs =
          [](DType dtype, TorchRng& rng) {
            return std::vector<Tensor>{normal({6, 5}, dtype, rng),
                                       random_ids({3, 7}, 6, rng)};
          },
      .run = [](const auto& in) { return embedding(in[0], in[1]); }}});

}  // namespace
}  // namespace qkv::testing
