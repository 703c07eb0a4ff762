#include "cli/command_line.h"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "cli/command_page.h"
#include "core/check.h"
#include "core/fields_json.h"

namespace qkv::cli {
namespace {

// "--steps=5" -> "--steps".
std::string name_in(const std::string& word) {
  return word.substr(0, word.find('='));
}

bool has_option(const CLI::App& app, const std::string& name) {
  return app.get_option_no_throw(name) != nullptr;
}

bool takes_value(const CLI::App& app, const std::string& word) {
  const CLI::Option* option = app.get_option_no_throw(word);
  return option && option->get_items_expected_max() > 0;
}

// Another subcommand that has this very option.
const Command* owner_of(const std::string& option, const Command& but) {
  for (const Command& command : commands()) {
    if (command.name == but.name) continue;
    CLI::App app;
    prepare(command, app);
    command.setup(app);
    if (has_option(app, option)) return &command;
  }
  return nullptr;
}

[[noreturn]] void refuse(const Command& command, const std::string& text) {
  fail_input("{}; see qkv {} --help", text, command.name);
}

[[noreturn]] void refuse_unknown(const Command& command, const CLI::App& app,
                                 const std::string& word) {
  if (!word.starts_with("-"))
    refuse(command, fmt::format("'{}' is one argument too many", word));
  const std::string name = name_in(word);
  if (name.starts_with("--"))
    if (const Command* owner = owner_of(name, command))
      fail_input("{} is an option of qkv {}, not of qkv {}", name, owner->name,
                 command.name);
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& known : option->get_lnames())
      names.push_back("--" + known);
  refuse(command, fmt::format("there is no option '{}'{}", name,
                              did_you_mean(name, names)));
}

// A long option behind a single dash would be read as short ones: -head as -h.
void refuse_single_dash(const Command& command, const CLI::App& app,
                        const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string name = name_in(words[i]);
    if (name.size() < 3 || name[0] != '-' || name[1] == '-') continue;
    if (i > 0 && takes_value(app, words[i - 1])) continue;
    if (has_option(app, "-" + name))
      refuse(command, fmt::format("there is no option '{}'; did you mean '{}'?",
                                  name, "-" + name));
  }
}

// Refuses --option '' and an empty argument: most come from a variable of a
// script that was never set, and would silently mean the default.
void refuse_empty(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() == "--prompt") continue;
    for (const std::string& value : option->results())
      if (value.empty())
        fail_input("{} is empty: give it a value, or leave it out",
                   option->get_name());
  }
}

// "--name=" as two words: CLI11 takes it for an option without a value, and the
// next word for its value.
std::vector<std::string> with_empty_values(
    const std::vector<std::string>& words) {
  std::vector<std::string> apart;
  for (const std::string& word : words) {
    if (word.size() > 3 && word.starts_with("--") &&
        word.find('=') == word.size() - 1) {
      apart.push_back(word.substr(0, word.size() - 1));
      apart.emplace_back();
    } else {
      apart.push_back(word);
    }
  }
  return apart;
}

}  // namespace

void parse_words(const Command& command, CLI::App& app,
                 const std::vector<std::string>& given) {
  const auto words = with_empty_values(given);
  refuse_single_dash(command, app, words);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::ExtrasError&) {
    refuse_empty(app);  // why there is a word too many
    refuse_unknown(command, app, app.remaining().front());
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    refuse(command, text.substr(0, text.find(": ")) + " needs a value");
  } catch (const CLI::ParseError& error) {
    // A misspelt option often is why another is missing.
    for (const std::string& word : app.remaining())
      if (word.starts_with("-")) refuse_unknown(command, app, word);
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    refuse(command, text);
  }
  refuse_empty(app);
}

}  // namespace qkv::cli
