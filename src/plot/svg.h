// Pieces of SVG.
#pragma once

#include <string>
#include <string_view>

namespace qkv::plot {

// XML text: markup escaped, characters that XML forbids replaced by U+FFFD.
std::string escape(std::string_view text);

// A coordinate with at most two decimals: 12.5, 3, −0.25 as "-0.25".
std::string coordinate(double value);

}  // namespace qkv::plot
