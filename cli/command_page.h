// What a subcommand takes, as plain data. Help, manual pages and completion are
// all written from it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace qkv::cli {

struct OptionPage {
  std::vector<std::string> names;  // "--output", "-o"; an argument has one, RUN
  // What stands for the value: N, X, TEXT, FILE, FILE.toml (a file that ends
  // so), DIR, RUN, or the choices a|b|c; empty: it takes none.
  std::string value;
  std::string help;      // a sentence without a full stop
  std::string fallback;  // the value when it is not given; empty: none to show
  bool required = false;
  bool many = false;  // an argument that may be given again

  std::vector<std::string> choices() const;  // of value a|b|c
  // help with what else is to know: the choices where they are too many to
  // stand beside the name, the default.
  std::string text() const;
  std::string shown_value() const;  // value, or NAME for too many choices
};

struct OptionGroup {
  std::string title;
  std::vector<OptionPage> options;
};

struct CommandPage {
  const Command* command = nullptr;
  std::vector<OptionPage> arguments;  // in their order
  std::vector<OptionGroup> groups;    // the common ones come last

  // "qkv sample RUN [OPTIONS]"; the functions set off what is typed as it
  // stands from what stands for something.
  using SetOff = std::function<std::string(const std::string&)>;
  std::string usage(const SetOff& typed, const SetOff& placeholder) const;
};

// The group of options that all subcommands share.
inline constexpr const char* kCommonGroup = "Common";

// What every subcommand has, before it adds its own: --help, --config.
void prepare(const Command& command, CLI::App& app);
CommandPage page_of(const Command& command);

}  // namespace qkv::cli
