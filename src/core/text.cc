#include "core/text.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstring>

namespace qkv {

int decode_utf8(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned char first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  // Bytes that follow, and the smallest code point that needs so many.
  int following = 0, smallest = 0, code_point = 0;
  if (first >= 0xC2 && first < 0xE0) {
    following = 1, smallest = 0x80, code_point = first & 0x1F;
  } else if (first >= 0xE0 && first < 0xF0) {
    following = 2, smallest = 0x800, code_point = first & 0x0F;
  } else if (first >= 0xF0 && first < 0xF5) {
    following = 3, smallest = 0x10000, code_point = first & 0x07;
  } else {
    return -1;
  }
  if (text.size() - at <= static_cast<std::size_t>(following)) return -1;
  for (int i = 1; i <= following; ++i) {
    const unsigned char next = byte(at + i);
    if ((next & 0xC0) != 0x80) return -1;
    code_point = code_point << 6 | (next & 0x3F);
  }
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (code_point < smallest || code_point > 0x10FFFF || surrogate) return -1;
  at += following + 1;
  return code_point;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::size_t invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    // Eight ASCII bytes at once: most text is nothing else.
    std::uint64_t eight;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    if (decode_utf8(text, at) < 0) return at;
  }
  return std::string_view::npos;
}

std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  std::string out = "'";
  std::size_t at = 0;
  while (at < text.size() && at < kLongest) {
    const std::size_t start = at;
    const int c = decode_utf8(text, at);
    if (c < 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
    else if (c < 0x20 || (c >= 0x7F && c < 0xA0))
      out += fmt::format("\\x{:02x}", c);
    else
      out += text.substr(start, at - start);
  }
  if (at < text.size()) out += "…";
  return out += "'";
}

std::string grouped(std::int64_t n) {
  std::string digits = fmt::format("{}", n);
  const std::ptrdiff_t first = n < 0 ? 1 : 0;
  for (auto at = std::ssize(digits) - 3; at > first; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

}  // namespace qkv
