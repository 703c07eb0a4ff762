#include <fmt/format.h>

#include "cli/completion.h"

namespace qkv::cli {
namespace {

// Functions that fill COMPREPLY for the word in $cur.
constexpr const char* kFunctions = R"(# Completion of qkv in bash.
_qkv_add() {
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done
}
_qkv_words() { _qkv_add < <(compgen -W "$1" -- "$cur"); }
_qkv_folders() {
  compopt -o filenames 2>/dev/null
  _qkv_add < <(compgen -d -- "$cur")
}
_qkv_files() {
  _qkv_folders
  _qkv_add < <(compgen -f -X "!*$1" -- "$cur" | while IFS= read -r word; do
    [[ -d $word ]] || printf '%s\n' "$word"
  done)
}
# A run is a folder, or a checkpoint; those in runs/ are offered at once.
_qkv_runs() {
  _qkv_files .safetensors
  local file
  for file in runs/*/last.safetensors; do
    [[ -f $file && ${file%/*} == "$cur"* && $cur != runs/* ]] &&
      COMPREPLY+=("${file%/*}")
  done
}
_qkv() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local command= i
  COMPREPLY=()
  # --name=value comes as three words.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }
  done
  case $command in
)";

std::string call_for(const OptionPage& option) {
  const Offer offer = offer_for(option);
  switch (offer.kind) {
    case Offer::words:
      return fmt::format("_qkv_words '{}'", fmt::join(offer.choices, " "));
    case Offer::files:
      return "_qkv_files " + (offer.ending.empty() ? "''" : offer.ending);
    case Offer::folders:
      return "_qkv_folders";
    case Offer::runs:
      return "_qkv_runs";
    case Offer::nothing:
      break;
  }
  return ":";
}

std::string branch(const CommandPage& page) {
  std::string names, values;
  for (const OptionGroup& group : page.groups)
    for (const OptionPage& option : group.options) {
      names += (names.empty() ? "" : " ") + option.names[0];
      if (option.value.empty()) continue;
      values += fmt::format("        {}) {}; return ;;\n",
                            fmt::join(option.names, "|"), call_for(option));
    }
  std::string text = fmt::format("    {})\n", page.command->name);
  if (!values.empty())
    text += "      case $prev in\n" + values + "      esac\n";
  const std::string words = fmt::format("_qkv_words '{}'", names);
  if (page.arguments.empty())
    text += "      " + words + "\n";
  else
    text += fmt::format(
        "      if [[ $cur == -* ]]; then\n        {}\n      else\n"
        "        {}\n      fi\n",
        words, call_for(page.arguments[0]));
  return text + "      ;;\n";
}

}  // namespace

std::string bash_completion(const std::vector<CommandPage>& pages) {
  std::string text = kFunctions, names;
  for (const CommandPage& page : pages) names += page.command->name + " ";
  text += fmt::format("    '') _qkv_words '{}--help --version' ;;\n", names);
  for (const CommandPage& page : pages) text += branch(page);
  return text + "  esac\n}\ncomplete -F _qkv qkv\n";
}

}  // namespace qkv::cli
