// Manual pages and completions as files, for installing.
#pragma once

#include <string>

namespace qkv::cli {

// FOLDER/man/qkv.1, qkv-train.1 …; FOLDER/completions/qkv.bash, _qkv, qkv.fish.
void write_pages(const std::string& folder);

}  // namespace qkv::cli
