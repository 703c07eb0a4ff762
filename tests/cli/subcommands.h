// All subcommands, as the program names them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/support/program.h"

namespace qkv::test {

// By the names of their manual pages.
inline std::vector<std::string> subcommands() {
  TempFolder folder;
  run_qkv({"help", "--write", folder.path()});
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder / "man")) {
    const std::string name = file.path().stem().string();
    if (name.starts_with("qkv-")) names.push_back(name.substr(4));
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos;
       begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

// The overview's page (empty name) or a subcommand's.
inline std::string help_of(const std::string& name, const How& how = {}) {
  return name.empty() ? run_qkv({"--help"}, how).out
                      : run_qkv({name, "--help"}, how).out;
}

}  // namespace qkv::test
