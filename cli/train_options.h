// The options of qkv train.
#pragma once

#include <cstdint>
#include <string>

#include "cli/cli11_fwd.h"
#include "cli/config_options.h"

namespace qkv::cli {

struct TrainOptions {
  std::string preset, model, config_file, out, resume, init_from, max_time;
  std::string dropout;
  std::string snapshot_prompt;
  std::int64_t stop_at = -1, sample_every = 0, snapshot_attention = 0;
  int threads = 0;
  bool dry_run = false, overwrite = false, quiet = false, json = false;
  ConfigOptions data_fields, model_fields, train_fields;
};

// Adds every option of `qkv train`.
void add_train_options(CLI::App& app, TrainOptions& options);

}  // namespace qkv::cli
