// Subcommands: one file each, registered by one static.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/cli11_fwd.h"

namespace qkv::cli {

// Exit codes, the same for every subcommand.
inline constexpr int kDone = 0;
inline constexpr int kInternal = 1;
inline constexpr int kBadInput = 2;  // usage or input, missing files included
inline constexpr int kWriteFailed = 3;
inline constexpr int kNumeric = 4;
// 128 + signal: interrupted, after saving.

// What somebody wants who comes to a subcommand; the overview is in this order.
enum class Purpose { train, use, look, program };

struct Example {
  std::string what;  // what the line is for: "Go on with a run"
  std::string line;  // "qkv train --resume runs/names": a test runs it
};

struct Command {
  std::string name;
  Purpose purpose;
  std::string help;  // what it does, in one line without a full stop
  std::vector<Example> examples;
  std::string about;  // what no option tells; paragraphs end with a line break
  // Adds the options to the subcommand and returns what runs it; that returns
  // the exit code, or throws.
  std::function<std::function<int()>(CLI::App&)> setup;
  // The section of --config FILE that holds its options; empty: its name.
  std::string section = {};
  bool computes = false;  // on every thread: how they wait matters
};

std::vector<Command>& commands();  // in the order of the overview
const Command* find_command(std::string_view name);  // null: there is none

struct RegisterCommand {
  explicit RegisterCommand(Command command);
};

}  // namespace qkv::cli
