// Samples on the way: every so many steps a few, printed and kept.
#pragma once

#include <functional>
#include <string>

#include "cli/run_log.h"
#include "qkv/train.h"

namespace qkv::cli {

class SampleObserver : public TrainObserver {
 public:
  // before_print makes room (the progress line).
  SampleObserver(std::int64_t every, RunLog& log,
                 std::function<void()> before_print);
  void on_start(const Trainer& trainer) override;
  void on_step(const TrainStep& event) override;

 private:
  std::int64_t every_;
  RunLog& log_;
  std::function<void()> before_print_;
  const Trainer* trainer_ = nullptr;
};

}  // namespace qkv::cli
