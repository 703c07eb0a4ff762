#include "data/python_lines.h"

#include <algorithm>

#include "core/text.h"

namespace qkv::data {
namespace {

// Where str.splitlines() cuts.
bool ends_line(int c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
         c == 0x2028 || c == 0x2029;
}

// What str.strip() takes away.
bool is_space(int c) {
  return ends_line(c) || c == ' ' || c == '\t' || c == 0x1F || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

std::string_view strip(std::string_view line) {
  // First and one past the last character that stays.
  std::size_t begin = line.size(), end = 0, at = 0;
  while (at < line.size()) {
    const std::size_t start = at;
    const int c = decode_utf8(line, at);
    if (is_space(c)) continue;
    begin = std::min(begin, start);
    end = at;
  }
  return begin < end ? line.substr(begin, end - begin) : std::string_view();
}

}  // namespace

PythonLines python_lines(std::string_view text) {
  PythonLines result;
  std::size_t line = 0, at = 0;
  const auto take = [&](std::size_t end) {
    const std::string_view item = strip(text.substr(line, end - line));
    if (item.empty())
      ++result.blank;
    else
      result.items.push_back(item);
  };
  while (at < text.size()) {
    const std::size_t start = at;
    const int c = decode_utf8(text, at);
    if (c == '\r') {
      ++result.carriage_returns;
      if (at < text.size() && text[at] == '\n') ++at;
    }
    if (!ends_line(c)) continue;
    take(start);
    line = at;
  }
  if (line < text.size()) take(text.size());
  return result;
}

}  // namespace qkv::data
