// The folder of a run.
#pragma once

#include <memory>
#include <string>

#include "cli/replaced_run.h"
#include "cli/run_log.h"

namespace qkv::cli {

// To be added to the trainer, both.
struct RunFolder {
  RunLog log;
  std::unique_ptr<ReplacedRun> replaced;  // null when a run is resumed
};

// Makes the folder and opens its log, which locks it against another training;
// only then lays the run aside that `overwrite` allows to replace. Throws where
// the folder holds a run and may not.
RunFolder open_run_folder(const std::string& folder, bool overwrite);

// Throws where the folder holds a run and may not: before a long computation
// that will write there.
void check_run_folder(const std::string& folder, bool overwrite);

// What a run is called: its folder's own name, however the path is written.
std::string run_name(const std::string& folder);

}  // namespace qkv::cli
