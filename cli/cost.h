// What a training would cost: --dry-run.
#pragma once

#include "cli/train_setup.h"

namespace qkv::cli {

// Prints parameters, operations, memory and time of a run, as one JSON object
// if asked, and trains nothing.
int print_cost(RunConfig& config, bool json);

}  // namespace qkv::cli
