// qkv: finds the subcommand, runs it, and turns errors into one line and an
// exit code.
#include <fmt/core.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "cli/command.h"
#include "cli/terminal.h"
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
  note(fmt::format("{}: {}; see {} --help", name, text, name));
  return kBadInput;
}

// A reader that has seen enough (qkv … | head) is no failure.
int output_failed(int error) {
  if (error == EPIPE) return kDone;
  note(fmt::format("qkv: standard output: {}", std::strerror(error)));
  return kWriteFailed;
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
    return app.exit(help) == 0 ? kDone : kInternal;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  for (std::size_t i = 0; i < subcommands.size(); ++i)
    if (subcommands[i]->parsed()) return runs[i]();
  fmt::print("{}", app.help());
  return kDone;
}

}  // namespace
}  // namespace qkv::cli

int main(int argc, char** argv) {
  using namespace qkv;
  if (const std::string missing = runtime::missing_cpu_features();
      !missing.empty()) {
    cli::note(fmt::format("qkv: this processor lacks {}", missing));
    return cli::kInternal;
  }
  // A reader that goes away (qkv … | head) ends output quietly, with an error
  // from write instead of a signal.
  std::signal(SIGPIPE, SIG_IGN);
  int code;
  try {
    code = cli::run(argc, argv);
  } catch (const Error& error) {
    cli::note(fmt::format("qkv: {}", error.what()));
    code = cli::exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    cli::note("qkv: out of memory; use a smaller model or batch");
    code = cli::kBadInput;
  } catch (const std::system_error& error) {  // fmt, writing to stdout
    code = cli::output_failed(error.code().value());
  } catch (const std::exception& error) {
    cli::note(fmt::format("qkv: internal error: {}", error.what()));
    code = cli::kInternal;
  }
  if (std::fflush(stdout) != 0 && code == cli::kDone)
    code = cli::output_failed(errno);
  return code;
}
