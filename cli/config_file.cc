#include "cli/config_file.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>

#include "cli/config_options.h"
#include "cli/toml.h"
#include "core/check.h"
#include "core/fields_json.h"
#include "core/json.h"

namespace qkv::cli {
namespace {

constexpr const char* kOption = "--config";

// The value of the last --config among the words.
std::string path_in(const std::vector<std::string>& words) {
  const std::string joined = std::string(kOption) + "=";
  std::string path;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == kOption && i + 1 < words.size()) path = words[i + 1];
    if (words[i].starts_with(joined)) path = words[i].substr(joined.size());
  }
  return path;
}

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) {
      names.push_back(name);
      std::replace(names.back().begin(), names.back().end(), '-', '_');
    }
  return names;
}

bool names_option(const std::string& message, const std::string& option) {
  const auto at = message.find(option);
  if (at == message.npos) return false;
  const auto end = at + option.size();
  return end == message.size() ||
         (message[end] != '-' &&
          !std::isalnum(static_cast<unsigned char>(message[end])));
}

}  // namespace

ConfigFile::ConfigFile(const Command& command, const CLI::App& app,
                       const std::vector<std::string>& words) {
  const std::string path = path_in(words);
  if (path.empty() || !app.get_option_no_throw(kOption)) return;
  const nlohmann::json file = read_toml(path);
  check_sections(file, path);
  const std::string section =
      command.section.empty() ? command.name : command.section;
  where_ = fmt::format("{}: [{}]", path, section);
  const auto found = file.find(section);
  if (found == file.end()) {
    if (!command.section.empty()) return;  // it has other sections
    fail_input("{}: there is no section [{}], which holds options of qkv {}",
               path, section, command.name);
  }
  if (!found->is_object()) fail_input("{} must be a section", where_);
  for (const auto& [key, value] : found->items()) {
    const std::string option = option_name(key);
    const CLI::Option* known = app.get_option_no_throw(option);
    if (!known || option == kOption)
      fail_input("{}: there is no option '{}'{}", where_, key,
                 did_you_mean(key, long_names(app)));
    const bool flag = known->get_items_expected_max() == 0;
    if (flag && !value.is_boolean())
      fail_input("{}: {} must be true or false, not {}", where_, key,
                 value.dump());
    if (value.is_object())
      fail_input("{}: {} must be a value, not a section", where_, key);
    const bool written =
        std::any_of(words.begin(), words.end(), [&](const std::string& word) {
          return word.substr(0, word.find('=')) == option;
        });
    if (written || (flag && !value.get<bool>())) continue;
    const bool several =
        known->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (value.is_array() && !several)
      fail_input("{}: {} must be one value, not a list", where_, key);
    options_.push_back(option);
    const auto add = [&](const nlohmann::json& one) {
      words_.push_back(option);
      words_.push_back(one.is_string() ? one.get<std::string>() : one.dump());
    };
    if (flag)
      words_.push_back(option);
    else if (value.is_array())
      for (const nlohmann::json& one : value) add(one);
    else
      add(value);
  }
}

std::string ConfigFile::origin(const std::string& message) const {
  for (const std::string& option : options_)
    if (names_option(message, option)) return where_ + ": ";
  return "";
}

void check_sections(const nlohmann::json& file, const std::string& path) {
  std::vector<std::string> known{"preset", "data", "model", "run"};
  for (const Command& command : commands())
    if (command.purpose != Purpose::program) known.push_back(command.name);
  for (const auto& [name, section] : file.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail_input("{}: there is no section '{}'; there are {}{}", path, name,
                 fmt::join(known, ", "), did_you_mean(name, known));
}

}  // namespace qkv::cli
