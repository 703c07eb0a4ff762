// qkv help, and what --help prints.
#include "cli/help.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/terminal.h"
#include "core/check.h"
#include "core/fields_json.h"

namespace qkv::cli {
namespace {

// What to try first.
struct Step {
  const char* what;
  const char* line;
};
constexpr Step kFirstSteps[] = {
    {"Train a small GPT on English words for a minute",
     "qkv train --max-time 1m"},
    {"Make up words with it", "qkv sample runs/words"},
    {"See where each of its heads looks",
     "qkv attend runs/words --prompt attention"},
};

constexpr int kTextColumn = 26;  // where the texts of options begin

std::string indented(const std::string& text, int indent, int columns) {
  std::string out;
  for (const std::string& line : wrap(text, columns - indent))
    out += std::string(static_cast<std::size_t>(indent), ' ') + line + "\n";
  return out;
}

// Two columns: a name, and what it means from `column` on. A long name has its
// line for itself; so has any where there is little room.
std::string entry(const std::string& name, const std::string& text, int columns,
                  int column) {
  const bool narrow = columns < 2 * column;
  if (text.empty() || narrow || static_cast<int>(name.size()) + 4 > column)
    return indented(name, 2, columns) +
           indented(text, narrow ? 6 : column, columns);
  std::string out = indented(text, column, columns);
  return out.replace(2, name.size(), name);
}

// A command that is longer than a line is broken as a shell allows, but not
// within quotes.
std::string shell_line(std::string command, int columns) {
  constexpr char kSpace = '\x01';  // a blank within quotes
  bool quoted = false;
  for (char& c : command) {
    if (c == '\'' || c == '"') quoted = !quoted;
    if (c == ' ' && quoted) c = kSpace;
  }
  std::string out;
  for (const std::string& line : wrap(command, columns - 6))
    out += (out.empty() ? "    " : " \\\n      ") + line;
  std::replace(out.begin(), out.end(), kSpace, ' ');
  return out + "\n";
}

struct Titles {
  bool bold;
  std::string operator()(const std::string& title) const {
    return bold ? "\n\033[1m" + title + "\033[0m\n" : "\n" + title + "\n";
  }
};

std::string option_entry(const OptionPage& option, int columns) {
  std::string name;
  for (auto it = option.names.rbegin(); it != option.names.rend(); ++it)
    name += (name.empty() ? "" : ", ") + *it;
  if (option.names[0].starts_with("-") && !option.value.empty())
    name += " " + option.shown_value();
  return entry(name, option.text(), columns, kTextColumn);
}

struct Options {
  std::string command;
};

int run(const Options& options) {
  fmt::print("{}", options.command.empty()
                       ? overview_text(help_style())
                       : help_text(page_of(command_named(options.command)),
                                   help_style()));
  return kDone;
}

const RegisterCommand kHelp({
    .name = "help",
    .purpose = Purpose::program,
    .help = "Tell what a subcommand does and takes",
    .examples = {{"What training takes", "qkv help train"}},
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          app.add_option("COMMAND", options->command,
                         "The subcommand; none: an overview")
              ->type_name("COMMAND");
          return [options] { return run(*options); };
        },
});

}  // namespace

HelpStyle help_style() {
  return {.columns = std::max(columns(), 20),
          .bold = can_colour(STDOUT_FILENO)};
}

std::string help_text(const CommandPage& page, const HelpStyle& style) {
  const Titles title{style.bold};
  const int columns = style.columns;
  const Command& command = *page.command;
  std::string out = indented(command.help, 0, columns);
  out += title("Usage:") + indented(page.usage(), 2, columns);
  if (!command.examples.empty()) out += title("Examples:");
  for (const Example& example : command.examples)
    out +=
        indented(example.what, 2, columns) + shell_line(example.line, columns);
  if (!page.arguments.empty()) out += title("Arguments:");
  for (const OptionPage& argument : page.arguments)
    out += option_entry(argument, columns);
  for (const OptionGroup& group : page.groups) {
    out += title(group.title + ":");
    for (const OptionPage& option : group.options)
      out += option_entry(option, columns);
  }
  if (!command.about.empty()) out += "\n" + indented(command.about, 0, columns);
  return out;
}

std::string overview_text(const HelpStyle& style) {
  const Titles title{style.bold};
  const int columns = style.columns;
  std::string out =
      indented("qkv trains, runs and looks inside transformer language models",
               0, columns);
  out += title("To begin:");
  for (const Step& step : kFirstSteps)
    out += indented(step.what, 2, columns) + shell_line(step.line, columns);
  std::string last;
  for (const Command& command : commands()) {
    const std::string group = title_of(command.purpose) + ":";
    if (group != last) out += title(group);
    last = group;
    out += entry(command.name, command.help, columns, 14);
  }
  return out + "\n" +
         indented(
             "qkv help COMMAND tells the rest of each; qkv --version, "
             "which kernels run on this machine",
             0, columns);
}

std::string title_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::train:
      return "Train";
    case Purpose::use:
      return "Use a model";
    case Purpose::look:
      return "Look inside";
    case Purpose::program:
      return "The program";
  }
  return "";
}

const Command& command_named(const std::string& name) {
  if (const Command* command = find_command(name)) return *command;
  if (name.starts_with("-"))
    fail_input("there is no option '{}' before a subcommand; see qkv --help",
               name);
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.name);
  fail_input("there is no subcommand '{}'{}; see qkv --help", name,
             did_you_mean(name, names));
}

}  // namespace qkv::cli
