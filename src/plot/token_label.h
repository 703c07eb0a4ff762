// Tokens made visible: every byte of a token shows as something, so that equal
// labels mean equal tokens and no token can disturb the picture around it.
#pragma once

#include <string>
#include <string_view>

#include "qkv/plot.h"

namespace qkv::plot {

// ·mat for a leading space, ↵ for a newline, ‹E2› for a byte that is no
// character, ⟨200B⟩ for what has no shape; at most `columns` wide (at least 3),
// with an ellipsis in the middle.
std::string token_label(const Token& token, int columns);

// Whether running text may show the bytes as they are: characters with a shape,
// spaces, newlines and tabs.
bool reads_as_text(const Token& token);

// A label for terminals that know ASCII only: _mat, \n, <E9>.
std::string ascii_label(std::string_view label);

// Columns of a fixed-width font: 2 for wide characters, 0 for combining marks.
int display_columns(std::string_view utf8);

bool has_right_to_left(std::string_view utf8);

}  // namespace qkv::plot
