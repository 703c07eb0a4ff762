// JSON from outside, read strictly.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace qkv {

inline constexpr int kMaxJsonDepth = 64;

// Throws an input error that begins with `where` (a file name, or what the text
// is) on anything but one JSON value: also on a name given twice in an object,
// nesting beyond kMaxJsonDepth, NUL bytes and what is not UTF-8, of which the
// parser by itself refuses only the last.
nlohmann::json parse_json(std::string_view text, const std::string& where);

}  // namespace qkv
