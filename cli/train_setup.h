// From options, preset, configuration file or checkpoint to a trainer.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "cli/config_options.h"
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

struct TrainOptions {
  std::string preset, model, config_file, out, resume, init_from, max_time;
  std::string dropout;
  std::string snapshot_prompt;
  std::int64_t stop_at = -1, sample_every = 0, snapshot_attention = 0;
  int threads = 0;
  bool dry_run = false, overwrite = false, quiet = false;
  ConfigOptions data_fields, model_fields, train_fields;
};

// Adds every option of `qkv train`.
void add_train_options(CLI::App& app, TrainOptions& options);

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
