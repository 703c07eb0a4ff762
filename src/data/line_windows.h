// Items as the lectures on the MLP take them: examples of the last few tokens
// and the one that comes next.
#pragma once

#include "data/line_list.h"

namespace qkv::data {

class LineWindows final : public ListDataset {
 public:
  // window: tokens of an example.
  LineWindows(std::shared_ptr<const LineList> list, std::int64_t window);

  std::string describe() const override;
  std::int64_t block_size() const override { return window_; }
  // Batches go on with the generator that drew the weights, as the lectures'.
  void start(TorchRng& rng) override { position_.rng = rng; }
  Batch next(std::int64_t batch_size) override;
  std::int64_t examples(Split split) const override;
  Batch evaluation(Split split, std::int64_t first,
                   std::int64_t count) const override;

 private:
  // targets (B,1): of the last position.
  Batch make(std::int64_t rows) const;
  void fill(Batch& batch, std::int64_t row, Split split,
            std::int64_t example) const;

  std::int64_t window_;
  // Of each split, item by item: window_ start tokens, the item, a start token
  // for its end. Example e of item i begins at e + i·window_.
  std::array<std::vector<std::int32_t>, 3> streams_;
  std::array<std::vector<std::int64_t>, 3> begins_;  // of each example
};

}  // namespace qkv::data
