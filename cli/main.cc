// qkv: finds the subcommand, runs it, and turns errors into one line and an
// exit code.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <sstream>
#include <system_error>

#include "cli/command.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "core/fields_json.h"
#include "qkv/error.h"
#include "qkv/runtime.h"

namespace qkv::cli {

std::vector<Command>& commands() {
  static std::vector<Command> commands;
  return commands;
}

RegisterCommand::RegisterCommand(Command command) {
  commands().push_back(std::move(command));
}

namespace {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return kBadInput;
    case ErrorKind::io:
      return kWriteFailed;
    case ErrorKind::numeric:
      return kNumeric;
    case ErrorKind::internal:
      return kInternal;
  }
  return kInternal;
}

// One line on stderr, whatever bytes a file name or an argument brings.
void complain(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    line += control ? fmt::format("\\x{:02x}", c) : std::string(1, c);
  }
  note(line);
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

// What the user wrote that CLI11 did not know, with the nearest name.
std::string suggestion(const CLI::App& app, const std::string& written) {
  std::vector<std::string> names;
  if (written.starts_with("-")) {
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames())
        names.push_back("--" + name);
  } else {
    for (const Command& command : commands()) names.push_back(command.name);
  }
  const std::string near = nearest(written, names);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

int usage_error(const CLI::App& top, const CLI::ParseError& error) {
  const CLI::App* app = &top;
  if (!top.get_subcommands().empty()) app = top.get_subcommands().front();
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    const auto rest = top.remaining(true);
    const std::string first = rest.empty() ? "" : rest.front();
    text = first.starts_with("-")
               ? fmt::format("there is no option '{}'", first)
           : app == &top ? fmt::format("there is no subcommand '{}'", first)
                         : fmt::format("'{}' is one argument too many", first);
    text += suggestion(*app, first);
  }
  const std::string name = app == &top ? "qkv" : "qkv " + app->get_name();
  complain(fmt::format("{}: {}; see {} --help", name, text, name));
  return kBadInput;
}

// A reader that has seen enough (qkv … | head) is no failure.
int output_failed(int error) {
  if (error == EPIPE) return kDone;
  complain(fmt::format("qkv: standard output: {}", std::strerror(error)));
  return kWriteFailed;
}

// Where 0, 1 or 2 is closed the next file to be opened would take its number,
// and a message would end up in a checkpoint. Opened for reading, writing to it
// still fails.
void hold_standard_files() {
  int file;
  do {
    file = open("/dev/null", O_RDONLY);
  } while (file >= 0 && file <= STDERR_FILENO);
  if (file >= 0) close(file);
}

int run(int argc, char** argv) {
  CLI::App app{"qkv trains, runs and looks inside transformer language models",
               "qkv"};
  app.set_version_flag("--version", std::string("qkv ") + kVersion);
  app.require_subcommand(0, 1);
  app.footer("qkv SUBCOMMAND --help tells the rest");
  std::sort(commands().begin(), commands().end(),
            [](const Command& a, const Command& b) { return a.name < b.name; });
  // Only the subcommand that was named is set up: starting stays quick.
  std::vector<std::function<int()>> runs(commands().size());
  std::vector<CLI::App*> subcommands;
  const auto named = std::find_if(
      argv + 1, argv + argc, [](const char* word) { return *word != '-'; });
  for (std::size_t i = 0; i < commands().size(); ++i) {
    Command& command = commands()[i];
    CLI::App* sub = app.add_subcommand(command.name, command.help);
    // Of an option given twice the later one counts: scripts add to a line.
    sub->option_defaults()->always_capture_default()->multi_option_policy(
        CLI::MultiOptionPolicy::TakeLast);
    if (named != argv + argc && command.name == *named)
      runs[i] = command.setup(*sub);
    subcommands.push_back(sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    app.exit(help, text, text);
    fmt::print("{}", text.str());
    return kDone;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  for (std::size_t i = 0; i < subcommands.size(); ++i)
    if (subcommands[i]->parsed()) {
      refuse_empty(*subcommands[i]);
      return runs[i]();
    }
  fmt::print("{}", app.help());
  return kDone;
}

}  // namespace
}  // namespace qkv::cli

int main(int argc, char** argv) {
  using namespace qkv;
  cli::hold_standard_files();
  if (const std::string missing = runtime::missing_cpu_features();
      !missing.empty()) {
    cli::note(fmt::format("qkv: this processor lacks {}", missing));
    return cli::kInternal;
  }
  // A reader that goes away (qkv … | head) ends output quietly, with an error
  // from write instead of a signal.
  std::signal(SIGPIPE, SIG_IGN);
  // So does the file size limit (ulimit -f).
  std::signal(SIGXFSZ, SIG_IGN);
  int code;
  try {
    code = cli::run(argc, argv);
  } catch (const Error& error) {
    cli::complain(fmt::format("qkv: {}", error.what()));
    code = cli::exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    cli::complain("qkv: out of memory; use a smaller model or batch");
    code = cli::kBadInput;
  } catch (const std::system_error& error) {  // fmt, writing to stdout
    code = cli::output_failed(error.code().value());
  } catch (const std::exception& error) {
    cli::complain(fmt::format("qkv: internal error: {}", error.what()));
    code = cli::kInternal;
  }
  if (std::fflush(stdout) != 0 && code == cli::kDone)
    code = cli::output_failed(errno);
  return code;
}
