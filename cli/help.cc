// qkv help, and what --help prints.
#include "cli/help.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>

#include "cli/man_page.h"
#include "cli/terminal.h"
#include "cli/written_pages.h"
#include "core/check.h"
#include "core/fields_json.h"

namespace qkv::cli {
namespace {

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
  for (const std::string& line : wrap(command, columns - 8))
    out += (out.empty() ? "    " : " \\\n      ") + line;
  std::replace(out.begin(), out.end(), kSpace, ' ');
  return out + "\n";
}

std::string as_it_is(const std::string& text) { return text; }

std::string title_line(const std::string& title, const HelpStyle& style) {
  const std::string text = indented(title + ":", 0, style.columns);
  return style.bold ? "\n\033[1m" + text + "\033[0m" : "\n" + text;
}

std::string option_entry(const OptionPage& option, int columns) {
  std::string name;
  for (auto it = option.names.rbegin(); it != option.names.rend(); ++it)
    name += (name.empty() ? "" : ", ") + *it;
  if (option.names[0].starts_with("-") && !option.value.empty())
    name += " " + option.shown_value();
  return entry(name, option.text(), columns, kTextColumn);
}

struct Options {
  std::string command, write;
  bool man = false;
};

int run(const Options& options) {
  if (!options.write.empty()) {
    write_pages(options.write);
    return kDone;
  }
  if (options.command.empty()) {
    fmt::print("{}",
               options.man ? man_overview() : overview_text(help_style()));
    return kDone;
  }
  const CommandPage page = page_of(command_named(options.command));
  fmt::print("{}",
             options.man ? man_page(page) : help_text(page, help_style()));
  return kDone;
}

const RegisterCommand kHelp({
    .name = "help",
    .purpose = Purpose::program,
    .help = "Tell what a subcommand does and takes",
    .examples = {{"What training takes", "qkv help train"},
                 {"The same as a manual page", "qkv help train --man"}},
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          app.add_option("COMMAND", options->command,
                         "The subcommand; none: an overview")
              ->type_name("COMMAND");
          app.add_flag("--man", options->man,
                       "As a manual page, which man -l - shows");
          app.add_option("--write", options->write,
                         "All manual pages and completions into this folder")
              ->group("");  // for the build alone
          return [options] { return run(*options); };
        },
});

}  // namespace

HelpStyle help_style() {
  return {.columns = std::max(columns(), 20),
          .bold = can_colour(STDOUT_FILENO)};
}

std::string help_text(const CommandPage& page, const HelpStyle& style) {
  const int columns = style.columns;
  const Command& command = *page.command;
  std::string out = indented(command.help, 0, columns);
  out += title_line("Usage", style) +
         indented(page.usage(as_it_is, as_it_is), 2, columns);
  if (!command.examples.empty()) out += title_line("Examples", style);
  for (const Example& example : command.examples)
    out +=
        indented(example.what, 2, columns) + shell_line(example.line, columns);
  if (!page.arguments.empty()) out += title_line("Arguments", style);
  for (const OptionPage& argument : page.arguments)
    out += option_entry(argument, columns);
  for (const OptionGroup& group : page.groups) {
    out += title_line(group.title, style);
    for (const OptionPage& option : group.options)
      out += option_entry(option, columns);
  }
  if (!command.about.empty()) out += "\n" + indented(command.about, 0, columns);
  return out;
}

const std::vector<Example>& first_steps() {
  static const std::vector<Example> steps{
      {"Train a small GPT on English words for a minute",
       "qkv train --max-time 1m"},
      {"Make up words with it", "qkv sample runs/words"},
      {"See where each of its heads looks",
       "qkv attend runs/words --prompt attention"}};
  return steps;
}

std::string overview_text(const HelpStyle& style) {
  const int columns = style.columns;
  std::string out =
      indented("qkv trains, runs and looks inside transformer language models",
               0, columns);
  out += title_line("To begin", style);
  for (const Example& step : first_steps())
    out += indented(step.what, 2, columns) + shell_line(step.line, columns);
  std::string last;
  for (const Command& command : commands()) {
    const std::string group = title_of(command.purpose);
    if (group != last) out += title_line(group, style);
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
