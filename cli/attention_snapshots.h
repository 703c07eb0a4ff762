// Heads over the course of a training: every so many steps the weights of all
// of them on one fixed text, in RUN/attention/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/plot.h"
#include "qkv/train.h"

namespace qkv::cli {

class AttentionSnapshots : public TrainObserver {
 public:
  // every 0: none are taken. Throws where the model has no attention, or the
  // prompt holds what the tokens cannot spell. Without a prompt the text is the
  // first of the validation data, at most kSnapshotTokens of it.
  AttentionSnapshots(std::int64_t every, const std::string& prompt,
                     LanguageModel& model, const data::Dataset& dataset);
  void on_start(const Trainer& trainer) override;  // of a new run: step 0
  void on_step(const TrainStep& event) override;

 private:
  void write(std::int64_t step);

  std::int64_t every_;
  std::vector<std::int64_t> ids_;
  const Trainer* trainer_ = nullptr;
};

inline constexpr std::int64_t kSnapshotTokens = 64;

// The snapshots of a run as one grid: a row a head, a column a step; at most
// `frames` of them, evenly chosen, first and last among them. layer and head
// choose as in qkv attend. Throws where a run has none.
plot::Attention read_film(const std::string& directory, int layer, int head,
                          int frames);

}  // namespace qkv::cli
