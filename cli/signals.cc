#include "cli/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace qkv::cli {
namespace {

volatile std::sig_atomic_t g_signal = 0;

void on_signal(int signal) {
  if (g_signal != 0) {
    // The checkpoint on disk is whole: files are replaced in one step.
    _exit(128 + signal);
  }
  g_signal = signal;
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A closed terminal ends the work as orderly; nohup has it ignored already.
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler == SIG_DFL) sigaction(SIGHUP, &action, nullptr);
}

int caught_signal() { return g_signal; }

}  // namespace qkv::cli
