// Subcommands: one file each, registered by one static.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

namespace qkv::cli {

// Exit codes, the same for every subcommand.
inline constexpr int kDone = 0;
inline constexpr int kInternal = 1;
inline constexpr int kBadInput = 2;  // usage or input, missing files included
inline constexpr int kWriteFailed = 3;
inline constexpr int kNumeric = 4;
inline constexpr int kInterrupted = 130;  // after saving
inline constexpr int kTerminated = 143;

struct Command {
  std::string name;
  std::string help;
  // Adds the options to the subcommand and returns what runs it; that returns
  // the exit code, or throws.
  std::function<std::function<int()>(CLI::App&)> setup;
};

std::vector<Command>& commands();

struct RegisterCommand {
  explicit RegisterCommand(Command command);
};

}  // namespace qkv::cli
