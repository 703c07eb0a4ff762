// The progress of a training on stderr: one live line on a terminal, plain
// lines now and then elsewhere.
#pragma once

#include <chrono>
#include <string>

#include "qkv/train.h"

namespace qkv::cli {

class Progress : public TrainObserver {
 public:
  Progress();
  void on_start(const Trainer& trainer) override;
  void on_step(const TrainStep& event) override;
  void on_evaluation(const TrainEvaluation& event) override;
  void on_end(const Trainer& trainer, TrainEnd reason) override;

  // Ends the live line so that other text can follow.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(const TrainStep& event) const;
  void redraw(const std::string& text);

  bool live_;
  bool drawn_ = false;
  Clock::time_point last_drawn_{}, last_plain_{};
  double smooth_loss_ = 0, weight_ = 0;  // bias-corrected moving average
  double smooth_seconds_ = 0, time_weight_ = 0;
  double last_validation_;
  std::int64_t first_step_ = -1, vocab_size_ = 0;
};

}  // namespace qkv::cli
