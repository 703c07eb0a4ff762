// --config FILE.toml: options that a file gives. Its section [sample] holds
// those of qkv sample, and so on; qkv train takes its data, model and training
// from [data], [model] and [train] and its other options from [run].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/command.h"

namespace qkv::cli {

// A section as words of a command line. They stand before those that were
// written, and of an option given twice the later one counts.
class ConfigFile {
 public:
  // Reads the file that the words name by --config; without it there are no
  // words here. Throws for what is no option of the subcommand.
  ConfigFile(const Command& command, const CLI::App& app,
             const std::vector<std::string>& words);

  const std::vector<std::string>& words() const { return words_; }
  // Where the option that a message names comes from, if it is this file:
  // "c.toml: [sample]: "; else empty.
  std::string origin(const std::string& message) const;

 private:
  std::string where_;
  std::vector<std::string> words_, options_;
};

// Refuses a section that no subcommand knows.
void check_sections(const nlohmann::json& file, const std::string& path);

}  // namespace qkv::cli
