// From options, preset, configuration file or checkpoint to a trainer.
#pragma once

#include <memory>
#include <string>

#include "cli/train_options.h"
#include "qkv/bundle.h"
#include "qkv/data.h"
#include "qkv/model.h"
#include "qkv/train.h"

namespace qkv::cli {

// Everything that decides what a run computes.
struct RunConfig {
  data::DataConfig data;
  std::unique_ptr<ModelConfig> model;
  TrainConfig train;
  bool fixed_block_size = false;  // else the data decides it where it can
  std::unique_ptr<Bundle>
      origin;  // of --init-from: whose weights to begin with
  std::vector<std::string> notes;  // what was decided unasked, for people
};

// Preset (or the model of --init-from), then --config, then options, each over
// the one before.
RunConfig resolve(const TrainOptions& options);

// The configuration of a checkpoint, with the options over it.
RunConfig resolve_resume(const TrainOptions& options,
                         const std::string& checkpoint);

// What was opened for a run.
struct RunParts {
  std::unique_ptr<data::Dataset> dataset;
  std::unique_ptr<LanguageModel> model;
  std::string data_info;  // JSON, for the checkpoint
};
// Opens the data, fits the model's sizes to it, makes the model. All draws are
// from one generator under the run's seed: split, weights, order. Where the
// default data is missing a task takes its place, and config.notes says so.
RunParts open_run(RunConfig& config, bool skip_init);

std::string config_toml(const RunConfig& config);

// "90", "90s", "15m", "2h" in seconds. Throws naming the option.
double parse_duration(const std::string& text, const std::string& option);

}  // namespace qkv::cli
