// The kinds of data sets, each in its own file. config and options are those of
// data::open, which has checked what concerns no kind alone.
#pragma once

#include <memory>

#include "qkv/data.h"

namespace qkv::data {

using OpenKind = std::unique_ptr<Dataset>(const DataConfig& config,
                                          const OpenOptions& options,
                                          TorchRng& rng);

OpenKind open_lines;  // an item a line
OpenKind open_words;  // the words of kWordList that are all a to z
OpenKind open_text;   // running text
OpenKind open_task;   // made up

}  // namespace qkv::data
