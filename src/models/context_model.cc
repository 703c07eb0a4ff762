#include "models/context_model.h"

#include <algorithm>

namespace qkv {

Tensor IdWindow::append(int slot, const std::int64_t* ids, std::int64_t count) {
  auto& own = ids_.at(slot);
  if (std::ssize(own) + count > block_)
    fail_input("slot {} holds {} tokens, {} more do not fit its context of {}",
               slot, own.size(), count, block_);
  own.insert(own.end(), ids, ids + count);
  Tensor all = Tensor::empty({1, std::ssize(own)}, DType::i64);
  std::copy(own.begin(), own.end(), all.data<std::int64_t>());
  return all;
}

Tensor with_window(const Tensor& ids, IdWindow& window,
                   const std::function<Tensor(const Tensor&)>& forward) {
  const std::int64_t rows = ids.dim(0), count = ids.dim(1);
  if (rows != std::ssize(window.active))
    fail_input("{} rows of ids for {} active slots", rows,
               window.active.size());
  std::vector<Tensor> parts;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Tensor whole = window.append(
        window.active[row], ids.data<std::int64_t>() + row * count, count);
    parts.push_back(forward(whole));
  }
  return concat(parts, 0);
}

Tensor checked_ids(std::string_view model, const Tensor& ids,
                   std::int64_t block) {
  if (ids.rank() != 2 || ids.dtype() != DType::i64)
    fail_input("[{}] ids are (B,T) i64, not {} {}", model, ids.shape().str(),
               name_of(ids.dtype()));
  if (ids.dim(1) > block)
    fail_input("[{}] {} tokens do not fit the context of {}", model, ids.dim(1),
               block);
  return contiguous(ids);
}

void check_targets(std::string_view model, const Tensor& ids,
                   const Tensor& targets) {
  if (targets.rank() != 2 || targets.dtype() != DType::i64 ||
      targets.dim(0) != ids.dim(0) || targets.dim(1) > ids.dim(1))
    fail_input("[{}] targets {} {} do not fit ids {}", model,
               targets.shape().str(), name_of(targets.dtype()),
               ids.shape().str());
}

}  // namespace qkv
