// qkv: finds the subcommand, runs it, and turns errors into one line and an
// exit code.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/command_page.h"
#include "cli/config_file.h"
#include "cli/help.h"
#include "cli/openmp_wait.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "qkv/error.h"
#include "qkv/runtime.h"

namespace qkv::cli {

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

// One line on stderr, whatever a message has in it: a file's name may hold line
// breaks.
void complain(const std::string& text) {
  std::string line;
  for (const char c : text) line += c == '\n' ? "\\x0a" : std::string(1, c);
  note(line);
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

std::string version_text() {
  std::string sets;
  for (const std::string& set : runtime::instruction_sets())
    sets += (sets.empty() ? "" : ", ") + set;
  return fmt::format("qkv {}\nkernels for {}; on this machine {}\n", kVersion,
                     sets, runtime::instruction_set());
}

int run(std::vector<std::string> words) {
  if (!words.empty() && words[0] == "--") words.erase(words.begin());
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    fmt::print("{}", overview_text(help_style()));
    return kDone;
  }
  if (words[0] == "--version") {
    fmt::print("{}", version_text());
    return kDone;
  }
  // Only the subcommand that was named is set up: starting stays quick.
  const Command& command = command_named(words[0]);
  CLI::App app(command.help, command.name);
  prepare(command, app);
  const auto work = command.setup(app);
  words.erase(words.begin());
  const ConfigFile config(command, app, words);
  words.insert(words.begin(), config.words().begin(), config.words().end());
  try {
    parse_words(command, app, words);
    return work();
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help_text(page_of(command), help_style()));
    return kDone;
  } catch (const Error& error) {
    throw Error(error.kind(), config.origin(error.what()) + error.what());
  }
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
  if (argc > 1) {
    const cli::Command* command = cli::find_command(argv[1]);
    if (command && command->computes && runtime::threads() > 1)
      cli::spin_briefly(argv);
  }
  // A reader that goes away (qkv … | head) ends output quietly, with an error
  // from write instead of a signal.
  std::signal(SIGPIPE, SIG_IGN);
  // So does the file size limit (ulimit -f).
  std::signal(SIGXFSZ, SIG_IGN);
  int code;
  try {
    code = cli::run({argv + std::min(argc, 1), argv + argc});
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
