#include "cli/toml.h"

#include <toml++/toml.h>

#include <sstream>

#include "core/check.h"
#include "core/json.h"
#include "qkv/io.h"

namespace qkv::cli {
namespace {

nlohmann::json to_json(const toml::node& node, const std::string& where) {
  if (const auto* table = node.as_table()) {
    auto object = nlohmann::json::object();
    for (const auto& [key, value] : *table)
      object[std::string(key.str())] = to_json(value, where);
    return object;
  }
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* array = node.as_array()) {
    auto list = nlohmann::json::array();
    for (const toml::node& value : *array) {
      if (value.is_table() || value.is_array())
        fail_input("{}: line {}: a list holds numbers and texts", where,
                   value.source().begin.line);
      list.push_back(to_json(value, where));
    }
    return list;
  }
  fail_input("{}: line {}: only numbers, texts, true and false are values here",
             where, node.source().begin.line);
}

}  // namespace

nlohmann::json read_toml(const std::string& path) {
  const std::string text = io::read_text_file(path, 16 << 20);
  try {
    return to_json(toml::parse(text), path);
  } catch (const toml::parse_error& error) {
    fail_input("{}: line {}: {}", path, error.source().begin.line,
               std::string(error.description()));
  }
}

std::string to_toml(const nlohmann::ordered_json& sections) {
  std::string text;
  for (const auto& [name, fields] : sections.items()) {
    text += (text.empty() ? "[" : "\n[") + name + "]\n";
    for (const auto& [field, value] : fields.items()) {
      // JSON's way of writing numbers, texts and truth is TOML's, too.
      text += field + " = " + value.dump() + "\n";
    }
  }
  return text;
}

}  // namespace qkv::cli
