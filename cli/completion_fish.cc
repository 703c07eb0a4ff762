#include <fmt/format.h>

#include "cli/completion.h"

namespace qkv::cli {
namespace {

constexpr const char* kHead = R"(# Completion of qkv in fish.
function __qkv_is
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end
function __qkv_is_first
    test (count (commandline -opc)) -eq 1
end
complete -c qkv -f
complete -c qkv -n __qkv_is_first -l help -d 'An overview'
complete -c qkv -n __qkv_is_first -l version -d 'The version'
)";

std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return "'" + out + "'";
}

std::string values_for(const OptionPage& option) {
  const Offer offer = offer_for(option);
  switch (offer.kind) {
    case Offer::words:
      return quoted(fmt::format("{}", fmt::join(offer.choices, " ")));
    case Offer::files:
      return offer.ending.empty()
                 ? "'(__fish_complete_path)'"
                 : "'(__fish_complete_suffix " + offer.ending + ")'";
    case Offer::folders:
      return "'(__fish_complete_directories)'";
    case Offer::runs:
      return "'(__fish_complete_suffix .safetensors)'";
    case Offer::nothing:
      break;
  }
  return "";
}

std::string line(const std::string& command, const OptionPage& option) {
  std::string text = fmt::format("complete -c qkv -n '__qkv_is {}'", command);
  for (const std::string& name : option.names)
    if (name.starts_with("--"))
      text += " -l " + name.substr(2);
    else if (name.starts_with("-"))
      text += " -s " + name.substr(1);
  const bool argument = !option.names[0].starts_with("-");
  if (!argument && !option.value.empty()) text += " -x";
  if (const std::string values = values_for(option); !values.empty())
    text += " -a " + values;
  return text + " -d " + quoted(option.help) + "\n";
}

}  // namespace

std::string fish_completion(const std::vector<CommandPage>& pages) {
  std::string text = kHead;
  for (const CommandPage& page : pages) {
    const std::string& name = page.command->name;
    text += fmt::format("complete -c qkv -n __qkv_is_first -a {} -d {}\n", name,
                        quoted(page.command->help));
    for (const OptionPage& argument : page.arguments)
      text += line(name, argument);
    for (const OptionGroup& group : page.groups)
      for (const OptionPage& option : group.options) text += line(name, option);
  }
  return text;
}

}  // namespace qkv::cli
