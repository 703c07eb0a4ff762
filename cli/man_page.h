// Manual pages in roff (man macros), from the same descriptions as --help.
#pragma once

#include <string>

#include "cli/command_page.h"

namespace qkv::cli {

std::string man_page(const CommandPage& page);  // qkv-train(1)
std::string man_overview();                     // qkv(1)

}  // namespace qkv::cli
