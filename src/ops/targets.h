// The targets of a loss: checked and counted.
#pragma once

#include "kernels/embedding/embedding.h"
#include "ops/common.h"

namespace qkv {

struct Targets {
  Tensor ids;                // (rows), contiguous
  std::int64_t counted = 0;  // those that are not ignored
};

inline Targets checked_targets(std::string_view op, const Tensor& targets,
                               std::int64_t rows, std::int64_t classes,
                               std::int64_t ignore) {
  if (!targets || targets.dtype() != DType::i64)
    fail_input("[{}] targets are i64", op);
  if (targets.numel() != rows)
    fail_input("[{}] {} targets {} for {} rows", op, targets.numel(),
               targets.shape().str(), rows);
  Targets checked{packed(targets), 0};
  const auto* id = checked.ids.data<std::int64_t>();
  const std::int64_t bad =
      kernels::first_out_of_range(id, rows, classes, ignore);
  if (bad >= 0)
    fail_input("[{}] target {} at position {} is outside 0..{}", op, id[bad],
               bad, classes - 1);
  for (std::int64_t i = 0; i < rows; ++i) checked.counted += id[i] != ignore;
  return checked;
}

// The mean over the counted targets of their losses, summed in double.
template <class T>
Tensor mean_loss(const Tensor& losses, std::int64_t counted) {
  double total = 0;
  const T* values = losses.data<T>();
  for (std::int64_t i = 0; i < losses.numel(); ++i)
    total += static_cast<double>(values[i]);
  return Tensor::scalar(counted > 0 ? total / static_cast<double>(counted) : 0,
                        losses.dtype());
}

}  // namespace qkv
