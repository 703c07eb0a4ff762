// What the program says of itself.
#pragma once

#include <string>
#include <vector>

#include "cli/command_page.h"

namespace qkv::cli {

struct HelpStyle {
  int columns = 80;
  bool bold = false;  // titles
};
HelpStyle help_style();  // what standard output can show

std::string help_text(const CommandPage& page, const HelpStyle& style);
inline constexpr const char* kAbout =
    "Train, run and look inside transformer language models";
const std::vector<Example>& first_steps();  // what to try first

// The subcommands by what one wants to do, and what to try first.
std::string overview_text(const HelpStyle& style);

// The subcommands of a purpose stand under this title.
std::string title_of(Purpose purpose);

// A subcommand's name from what was written; throws with the nearest one.
const Command& command_named(const std::string& name);

}  // namespace qkv::cli
