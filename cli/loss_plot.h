// loss.svg of a run, drawn from its log.
#pragma once

#include <chrono>
#include <string>

#include "qkv/plot.h"
#include "qkv/train.h"

namespace qkv::cli {

// The curves of DIR/log.jsonl, and what guessing gives.
plot::LossCurve loss_curve_of(const std::string& directory);

// Writes DIR/loss.svg.
void draw_loss(const std::string& directory);

class LossPlot : public TrainObserver {
 public:
  void on_start(const Trainer& trainer) override;
  void on_evaluation(const TrainEvaluation& event) override;
  void on_end(const Trainer& trainer, TrainEnd reason) override;

 private:
  void draw();

  std::string directory_;
  bool told_ = false;  // that it cannot be drawn
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace qkv::cli
