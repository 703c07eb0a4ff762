// What a training would cost: --dry-run.
#pragma once

#include "cli/train_setup.h"

namespace qkv::cli {

// Prints parameters, operations, memory and time of a run, and trains nothing.
int print_cost(RunConfig& config);

}  // namespace qkv::cli
