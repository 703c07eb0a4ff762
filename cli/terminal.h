// What the terminal is, and how numbers are written for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/plot.h"

namespace qkv::cli {

bool is_terminal(int descriptor);
// Whether a live line and colours make sense there: a terminal, TERM is not
// dumb; colours also need NO_COLOR to be unset or empty.
bool can_redraw(int descriptor);
bool can_colour(int descriptor);
bool utf8_locale();
int columns();  // COLUMNS, the terminal's width, or 80

// Lines of at most so many columns, broken at blanks (a longer word stands for
// itself) and at line breaks.
std::vector<std::string> wrap(std::string_view text, int columns);

std::string with_commas(std::int64_t n);    // "1,234,567"
std::string short_count(double n);          // "204.5 K", "10.7 M"
std::string bytes_text(double bytes);       // "1.5 MiB"
std::string duration_text(double seconds);  // "1 h 02 min", "26 s"

// What pictures in text are drawn for, on standard output.
plot::Terminal this_terminal();

// Writes out what was printed to standard output so far. Throws
// std::system_error where it cannot be: the disk is full, the reader has left.
void flush_output();

// Text for people on stderr, with a line break; other control characters, which
// could steer the terminal, are shown as \x1b.
void note(const std::string& text);
// The same without a line break; a stderr that is closed or full is no error.
void to_stderr(const std::string& text);

}  // namespace qkv::cli
