// The folder of a run.
#pragma once

#include <string>

namespace qkv::cli {

// Makes the folder; refuses one that holds a run, or with `overwrite` takes
// that away.
void prepare_folder(const std::string& folder, bool overwrite);

}  // namespace qkv::cli
