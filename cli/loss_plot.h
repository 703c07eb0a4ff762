// loss.svg of a run, drawn from its log.
#pragma once

#include <chrono>
#include <string>

#include "qkv/train.h"

namespace qkv::cli {

// Reads DIR/log.jsonl and writes DIR/loss.svg.
void draw_loss(const std::string& directory, std::int64_t vocab_size);

class LossPlot : public TrainObserver {
 public:
  void on_start(const Trainer& trainer) override;
  void on_evaluation(const TrainEvaluation& event) override;
  void on_end(const Trainer& trainer, TrainEnd reason) override;

 private:
  std::string directory_;
  std::int64_t vocab_size_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace qkv::cli
