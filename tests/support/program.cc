#include "tests/support/program.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace qkv::test {
namespace {

// The ends of a channel: what is written to ends[1] is read from ends[0].
void open_channel(int columns, int (&ends)[2]) {
  if (columns == 0) {
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    return;
  }
  const winsize size{.ws_row = 24,
                     .ws_col = static_cast<unsigned short>(columns)};
  termios raw{};
  cfmakeraw(&raw);
  if (openpty(&ends[0], &ends[1], nullptr, &raw, &size) != 0) std::abort();
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
}

void resize(int terminal, int columns) {
  const winsize size{.ws_row = 24,
                     .ws_col = static_cast<unsigned short>(columns)};
  if (ioctl(terminal, TIOCSWINSZ, &size) != 0) std::abort();
}

void child(const std::vector<std::string>& arguments, const How& how, int out,
           int err) {
  if (!how.folder.empty() && chdir(how.folder.c_str()) != 0) _exit(126);
  for (const auto& [name, value] : how.environment)
    setenv(name.c_str(), value.c_str(), 1);
  if (!how.out_path.empty()) {
    out = open(how.out_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (out < 0) _exit(126);
  }
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const int file : how.closed) close(file);
  if (how.most_file_bytes >= 0) {
    const auto most = static_cast<rlim_t>(how.most_file_bytes);
    const rlimit limit{.rlim_cur = most, .rlim_max = most};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::vector<char*> argv;
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

Ran run_program(const std::vector<std::string>& arguments, const How& how) {
  int out[2], err[2];
  open_channel(how.terminal, out);
  open_channel(how.terminal, err);
  const pid_t pid = fork();
  if (pid == 0) child(arguments, how, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  Ran ran;
  bool sent = how.signal == 0, resized = how.resized == 0;
  pollfd files[] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* texts[] = {&ran.out, &ran.err};
  int open_files = 2;
  while (open_files > 0) {
    poll(files, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t n = read(files[i].fd, buffer, sizeof buffer);
      if (n > 0) {
        texts[i]->append(buffer, static_cast<std::size_t>(n));
      } else {
        close(files[i].fd);
        files[i].fd = -1;
        --open_files;
      }
    }
    if (!sent && ran.err.find(how.signal_after) != std::string::npos) {
      kill(pid, how.signal);
      sent = true;
    }
    if (!resized && ran.err.find(how.resized_after) != std::string::npos) {
      resize(err[0], how.resized);
      resized = true;
    }
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ran;
}

}  // namespace

Ran run_qkv(const std::vector<std::string>& arguments, const How& how) {
  std::vector<std::string> words{QKV_BINARY_DIR "/bin/qkv"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_program(words, how);
}

Ran run_shell(const std::string& command, const How& how) {
  return run_program(
      {"/bin/bash", "-c", "PATH=" QKV_BINARY_DIR "/bin:$PATH; " + command},
      how);
}

}  // namespace qkv::test
