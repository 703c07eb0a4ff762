// JSON from outside, read strictly.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace qkv {

inline constexpr int kMaxJsonDepth = 64;

// Throws an input error that begins with `where` (a file name, or what the text
// is) on anything but one JSON value: also on a name given twice in an object,
// nesting beyond kMaxJsonDepth, NUL bytes and what is not UTF-8, of which the
// parser by itself refuses only the last.
nlohmann::json parse_json(std::string_view text, const std::string& where);

[[noreturn]] void wrong_json_type(const std::string& where, const char* name,
                                  const nlohmann::json& value);

// object[name] as a T, or fallback where it is absent. Throws an input error
// naming where and name when it, or the object, has another type.
template <class T>
T json_value(const nlohmann::json& object, const char* name, T fallback,
             const std::string& where) {
  if (!object.is_object()) wrong_json_type(where, name, object);
  const auto it = object.find(name);
  if (it == object.end()) return fallback;
  if constexpr (std::is_same_v<T, nlohmann::json>) return *it;
  if constexpr (std::is_integral_v<T>)
    if (!it->is_number_integer()) wrong_json_type(where, name, *it);
  try {
    return it->template get<T>();
  } catch (const nlohmann::json::exception&) {
    wrong_json_type(where, name, *it);
  }
}

// One line of text, whatever bytes its strings hold: what is not UTF-8 (a file
// name may be anything) becomes U+FFFD.
std::string json_line(const nlohmann::json& value);
std::string json_line(const nlohmann::ordered_json& value);

}  // namespace qkv
