// The words of a subcommand, read into its options.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace qkv::cli {

// Reads the words after the subcommand's name. Throws an input error that names
// the word, with the nearest option or the subcommand it belongs to, and
// CLI::CallForHelp.
void parse_words(const Command& command, CLI::App& app,
                 const std::vector<std::string>& words);

}  // namespace qkv::cli
