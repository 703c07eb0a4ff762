// What the tests of all kinds of data sets need.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "qkv/data.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace qkv::data {

using Ids = std::vector<std::int64_t>;

inline std::unique_ptr<Dataset> open_seeded(const DataConfig& config,
                                            const OpenOptions& options = {},
                                            std::uint64_t seed = 1) {
  TorchRng rng(seed);
  auto dataset = open(config, options, rng);
  dataset->start(rng);
  return dataset;
}

// Row i of a batch's tensor (B,T).
inline Ids row(const Tensor& batch, std::int64_t i) {
  const auto* begin = batch.data<std::int64_t>() + i * batch.dim(1);
  return {begin, begin + batch.dim(1)};
}

// Every example of a split, as text.
inline std::vector<std::string> texts(const Dataset& dataset, Split split) {
  std::vector<std::string> all;
  const std::int64_t n = dataset.examples(split);
  if (n == 0) return all;
  const Batch batch = dataset.evaluation(split, 0, n);
  for (std::int64_t i = 0; i < n; ++i)
    all.push_back(dataset.tokenizer().decode(row(batch.ids, i)));
  return all;
}

}  // namespace qkv::data
