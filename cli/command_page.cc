#include "cli/command_page.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>

namespace qkv::cli {
namespace {

// Longer lists of choices stand in the text of an option, not beside its name.
constexpr std::size_t kMostShown = 40;

OptionPage page_of(const CLI::Option& option) {
  OptionPage page;
  if (option.get_positional()) page.names = {option.get_name(true)};
  for (const std::string& name : option.get_lnames())
    page.names.push_back("--" + name);
  for (const std::string& name : option.get_snames())
    page.names.push_back("-" + name);
  if (option.get_items_expected_max() > 0) page.value = option.get_type_name();
  page.help = option.get_description();
  if (!page.help.empty())
    page.help[0] = static_cast<char>(
        std::toupper(static_cast<unsigned char>(page.help[0])));
  page.fallback = option.get_default_str();
  if (page.fallback == "[]") page.fallback.clear();  // of a list: none
  page.required = option.get_required();
  page.many = option.get_positional() && option.get_items_expected_max() > 1;
  for (const CLI::Option* other : option.get_excludes())
    page.help += "; not with " + other->get_name();
  return page;
}

}  // namespace

std::vector<std::string> OptionPage::choices() const {
  std::vector<std::string> names;
  if (value.find('|') == value.npos) return names;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != value.npos; begin = end + 1) {
    end = value.find('|', begin);
    names.push_back(value.substr(begin, end - begin));
  }
  return names;
}

std::string OptionPage::shown_value() const {
  return value.size() > kMostShown ? "NAME" : value;
}

std::string OptionPage::text() const {
  std::string text = help;
  if (shown_value() != value) {
    std::string list;
    for (const std::string& name : choices())
      list += (list.empty() ? ": " : ", ") + name;
    text += list;
  }
  if (required && names[0].starts_with("-")) text += " (needed)";
  if (!fallback.empty()) text += " (default " + fallback + ")";
  return text;
}

std::string CommandPage::usage(const SetOff& typed,
                               const SetOff& placeholder) const {
  std::string text = typed("qkv " + command->name);
  for (const OptionPage& argument : arguments) {
    const std::string name =
        placeholder(argument.names[0]) + (argument.many ? "..." : "");
    text += argument.required ? " " + name : " [" + name + "]";
  }
  for (const OptionGroup& group : groups)
    for (const OptionPage& option : group.options)
      if (option.required)
        text += " " + typed(option.names[0]) + " " +
                placeholder(option.shown_value());
  return text + " [" + placeholder("OPTIONS") + "]";
}

void prepare(const Command& command, CLI::App& app) {
  // Of an option given twice the later one counts: scripts add to a line.
  app.option_defaults()->always_capture_default()->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);
  app.set_help_flag("-h,--help", "This page")->group(kCommonGroup);
  if (command.purpose == Purpose::program) return;
  const std::string sections =
      command.section.empty()
          ? "section [" + command.name + "]"
          : "sections [data], [model], [train] and [" + command.section + "]";
  app.add_option("--config")
      ->description("Take options from " + sections +
                    " of this file; those written here come first")
      ->group(kCommonGroup)
      ->type_name("FILE.toml");
}

CommandPage page_of(const Command& command) {
  CLI::App app(command.help, command.name);
  prepare(command, app);
  command.setup(app);
  CommandPage page;
  page.command = &command;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      page.arguments.push_back(page_of(*option));
      continue;
    }
    const std::string& title = option->get_group();
    if (title.empty()) continue;  // not for people
    auto group =
        std::find_if(page.groups.begin(), page.groups.end(),
                     [&](const OptionGroup& g) { return g.title == title; });
    if (group == page.groups.end())
      group = page.groups.insert(group, OptionGroup{title, {}});
    group->options.push_back(page_of(*option));
  }
  // --help was the first to be added.
  const auto common = std::find_if(
      page.groups.begin(), page.groups.end(),
      [](const OptionGroup& g) { return g.title == kCommonGroup; });
  std::rotate(common->options.begin(), common->options.begin() + 1,
              common->options.end());
  std::rotate(common, common + 1, page.groups.end());
  return page;
}

}  // namespace qkv::cli
