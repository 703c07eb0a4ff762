// UTF-8, and how text from outside appears in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace qkv {

// The code point that begins at text[at], and at moves behind it. Where the
// bytes are not UTF-8 (overlong, surrogate, above U+10FFFF, cut off): -1, and
// at stays.
int decode_utf8(std::string_view text, std::size_t& at);

void append_utf8(std::string& out, char32_t code_point);

// Where the first byte lies that is not UTF-8, or npos.
std::size_t invalid_utf8(std::string_view text);

// 'text' for a message: one line, printable, 64 bytes at most.
std::string quote(std::string_view text);

// 1115394 as people read it: "1,115,394".
std::string grouped(std::int64_t n);

}  // namespace qkv
