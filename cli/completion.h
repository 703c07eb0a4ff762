// Completion of command lines in shells, from the same descriptions as --help.
#pragma once

#include <string>
#include <vector>

#include "cli/command_page.h"

namespace qkv::cli {

// What a shell offers for a value or an argument.
struct Offer {
  enum Kind { nothing, words, files, folders, runs } kind = nothing;
  std::vector<std::string> choices;  // of words
  std::string ending;                // of files, ".toml"; empty: any
};
Offer offer_for(const OptionPage& option);

// The whole script, to be sourced or installed.
std::string bash_completion(const std::vector<CommandPage>& pages);
std::string zsh_completion(const std::vector<CommandPage>& pages);
std::string fish_completion(const std::vector<CommandPage>& pages);

std::vector<CommandPage> all_pages();

}  // namespace qkv::cli
