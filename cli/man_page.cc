#include "cli/man_page.h"

#include <fmt/format.h>

#include <cctype>

#include "cli/help.h"
#include "cli/terminal.h"
#include "qkv/runtime.h"

namespace qkv::cli {
namespace {

// Text as roff takes it: a dash that is typed, not a hyphen, and no line that
// begins like a request.
std::string escaped(const std::string& text) {
  std::string out;
  if (text.starts_with(".") || text.starts_with("'")) out = "\\&";
  for (const char c : text)
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return out;
}

std::string sentence(const std::string& text) {
  std::string out;
  for (const std::string& line : wrap(text, 70))
    out += (out.empty() ? "" : "\n") + escaped(line);
  return out.empty() || out.ends_with(".") ? out : out + ".";
}

std::string bold(const std::string& text) {
  return "\\fB" + escaped(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + escaped(text) + "\\fR";
}

std::string head(const std::string& name, const std::string& help) {
  std::string title = name;
  for (char& c : title)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string first = help;
  first[0] =
      static_cast<char>(std::tolower(static_cast<unsigned char>(first[0])));
  return fmt::format(
      ".TH {} 1 \"\" \"qkv {}\" \"qkv manual\"\n.SH NAME\n{} \\- {}\n",
      escaped(title), kVersion, escaped(name), escaped(first));
}

// A value: choices as they are written, what stands for something in italics.
std::string value_text(const OptionPage& option) {
  const auto choices = option.choices();
  if (choices.empty() || option.shown_value() != option.value)
    return italic(option.shown_value());
  std::string text;
  for (const std::string& choice : choices)
    text += (text.empty() ? "" : "|") + bold(choice);
  return text;
}

std::string entry(const OptionPage& option) {
  std::string names;
  for (auto it = option.names.rbegin(); it != option.names.rend(); ++it)
    names += (names.empty() ? "" : ", ") +
             (it->starts_with("-") ? bold(*it) : italic(*it));
  if (option.names[0].starts_with("-") && !option.value.empty())
    names += " " + value_text(option);
  return ".TP\n" + names + "\n" + sentence(option.text()) + "\n";
}

std::string example(const std::string& what, const std::string& line) {
  return ".TP\n" + escaped(what) + ":\n" + bold(line) + "\n";
}

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\nDone.\n"
    ".TP\n1\nAn error of the program itself.\n"
    ".TP\n2\nBad usage or input; a file that cannot be read is input.\n"
    ".TP\n3\nWriting failed.\n"
    ".TP\n4\nA number that is not finite appeared.\n"
    ".TP\n130, 143\nInterrupted, after saving.\n";

}  // namespace

std::string man_page(const CommandPage& page) {
  const Command& command = *page.command;
  std::string out = head("qkv-" + command.name, command.help) +
                    ".SH SYNOPSIS\n" + page.usage(bold, italic) + "\n";
  if (!command.about.empty() || !page.arguments.empty())
    out += ".SH DESCRIPTION\n";
  if (!command.about.empty()) out += sentence(command.about) + "\n";
  for (const OptionPage& argument : page.arguments) out += entry(argument);
  out += ".SH OPTIONS\n";
  for (const OptionGroup& group : page.groups) {
    if (page.groups.size() > 1) out += ".SS " + escaped(group.title) + "\n";
    for (const OptionPage& option : group.options) out += entry(option);
  }
  if (!command.examples.empty()) out += ".SH EXAMPLES\n";
  for (const Example& e : command.examples) out += example(e.what, e.line);
  return out + kExitStatus + ".SH SEE ALSO\n" + "\\fBqkv\\fR(1)\n";
}

std::string man_overview() {
  std::string out = head("qkv", kAbout);
  out += ".SH SYNOPSIS\n" + bold("qkv") + " " + italic("COMMAND") + " [" +
         italic("ARGUMENTS") + "] [" + italic("OPTIONS") + "]\n";
  out += ".SH COMMANDS\n";
  std::string last;
  for (const Command& command : commands()) {
    const std::string group = title_of(command.purpose);
    if (group != last) out += ".SS " + escaped(group) + "\n";
    last = group;
    out += ".TP\n\\fBqkv\\-" + escaped(command.name) + "\\fR(1)\n" +
           sentence(command.help) + "\n";
  }
  out += ".SH OPTIONS\n.TP\n" + bold("--help") + "\nAn overview.\n.TP\n" +
         bold("--version") +
         "\nThe version, and which kernels run on this machine.\n";
  out += ".SH EXAMPLES\n";
  for (const Example& e : first_steps()) out += example(e.what, e.line);
  out += kExitStatus;
  return out +
         ".SH ENVIRONMENT\n"
         ".TP\n\\fBCOLUMNS\\fR\nHow wide the terminal is.\n"
         ".TP\n\\fBNO_COLOR\\fR\nNot empty: no colours.\n"
         ".TP\n\\fBTERM\\fR\n\\fBdumb\\fR: no colours, and plain lines of "
         "progress.\n"
         ".TP\n\\fBLC_ALL\\fR, \\fBLC_CTYPE\\fR, \\fBLANG\\fR\nThe first that "
         "is set says whether the terminal shows UTF\\-8.\n";
}

}  // namespace qkv::cli
