// The run that `--overwrite` replaces, kept until the new one has saved: a
// training that breaks down before costs nobody what was there.
#pragma once

#include <string>

#include "qkv/train.h"

namespace qkv::cli {

class ReplacedRun : public TrainObserver {
 public:
  // Lays what the folder holds of a run aside, into .replaced in it; its log,
  // which stays where its lock is, as a copy. One that was laid aside by a
  // process that was killed is the run that counts.
  explicit ReplacedRun(const std::string& folder);
  // Puts it back unless the new run has saved.
  ~ReplacedRun() override;
  ReplacedRun(const ReplacedRun&) = delete;
  ReplacedRun& operator=(const ReplacedRun&) = delete;

  void on_saved(const TrainSaved& event) override;

 private:
  std::string folder_;
  bool waiting_;  // for the first save; false where there was no run
};

}  // namespace qkv::cli
