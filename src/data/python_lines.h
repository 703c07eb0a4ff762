// Lines of a text as makemore sees them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace qkv::data {

struct PythonLines {
  std::vector<std::string_view> items;  // stripped, none empty; views of text
  std::int64_t blank = 0;               // lines that held only white space
  std::int64_t carriage_returns = 0;    // CR, all of them
};

// What Python makes of an open text file's read().splitlines(), each line
// stripped: ends of line are LF, CR LF, CR and Unicode's, white space is
// Unicode's. text is UTF-8.
PythonLines python_lines(std::string_view text);

}  // namespace qkv::data
