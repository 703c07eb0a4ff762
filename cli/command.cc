#include "cli/command.h"

#include <algorithm>
#include <tuple>

namespace qkv::cli {

std::vector<Command>& commands() {
  static std::vector<Command> commands;
  return commands;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands())
    if (command.name == name) return &command;
  return nullptr;
}

// Statics run in an order of their own: each takes its place in the list.
RegisterCommand::RegisterCommand(Command command) {
  const auto before = [](const Command& a, const Command& b) {
    return std::tie(a.purpose, a.name) < std::tie(b.purpose, b.name);
  };
  auto& all = commands();
  const auto place = std::upper_bound(all.begin(), all.end(), command, before);
  all.insert(place, std::move(command));
}

}  // namespace qkv::cli
