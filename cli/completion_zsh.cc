#include <fmt/format.h>

#include "cli/completion.h"

namespace qkv::cli {
namespace {

constexpr const char* kHead = R"(#compdef qkv
# Completion of qkv in zsh.
_qkv_runs() {
  _alternative 'folders:run:_files -/' \
    'files:checkpoint:_files -g "*.safetensors"'
}
_qkv() {
  local curcontext=$curcontext state line
  _arguments -C '--help[An overview]' '--version[The version]' \
    '1:command:->command' '*::argument:->arguments'
  case $state in
  command)
    local -a commands=(
)";

constexpr const char* kTail = R"(    esac
    ;;
  esac
}
if [[ $funcstack[1] == _qkv ]]; then
  _qkv "$@"
else
  compdef _qkv qkv
fi
)";

// Text within single quotes, in which `special` are escaped for _arguments.
std::string quoted(const std::string& text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (special.find(c) != special.npos) out += '\\';
    out += c;
  }
  return out;
}

std::string action_for(const OptionPage& option) {
  const Offer offer = offer_for(option);
  switch (offer.kind) {
    case Offer::words:
      return quoted(fmt::format("({})", fmt::join(offer.choices, " ")), ":");
    case Offer::files:
      return offer.ending.empty() ? "_files"
                                  : "_files -g \"*" + offer.ending + "\"";
    case Offer::folders:
      return "_files -/";
    case Offer::runs:
      return "_qkv_runs";
    case Offer::nothing:
      break;
  }
  return " ";
}

std::string spec(const OptionPage& option) {
  const std::string text =
      "[" + quoted(option.help, "[]:\\") + "]" +
      (option.value.empty() ? ""
                            : ":" + quoted(option.shown_value(), ":\\") + ":" +
                                  action_for(option));
  std::string names;
  for (const std::string& name : option.names) {
    const bool equals = name.starts_with("--") && !option.value.empty();
    names += (names.empty() ? "" : ",") + name + (equals ? "=" : "");
  }
  if (option.names.size() == 1) return "'" + names + text + "'";
  return fmt::format("'({})'{{{}}}'{}'", fmt::join(option.names, " "), names,
                     text);
}

std::string branch(const CommandPage& page) {
  std::string text =
      fmt::format("    {})\n      _arguments", page.command->name);
  for (const OptionGroup& group : page.groups)
    for (const OptionPage& option : group.options)
      text += " \\\n        " + spec(option);
  for (const OptionPage& argument : page.arguments)
    text += fmt::format(" \\\n        '{}:{}:{}'", argument.many ? "*" : "1",
                        argument.names[0], action_for(argument));
  return text + "\n      ;;\n";
}

}  // namespace

std::string zsh_completion(const std::vector<CommandPage>& pages) {
  std::string text = kHead;
  for (const CommandPage& page : pages)
    text += fmt::format("      '{}:{}'\n", page.command->name,
                        quoted(page.command->help, ":\\"));
  text +=
      "    )\n    _describe command commands\n    ;;\n  arguments)\n"
      "    case $words[1] in\n";
  for (const CommandPage& page : pages) text += branch(page);
  return text + kTail;
}

}  // namespace qkv::cli
