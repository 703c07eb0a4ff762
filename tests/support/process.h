// Running a piece of a test in a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>

namespace qkv::test {

inline constexpr int kSkipped = 77;

// The exit status of a child that runs body and leaves with what it returns (1
// after a gtest failure or an exception); -signal when a signal ended it.
inline int in_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    if (testing::Test::HasFailure() && status == 0) status = 1;
    std::fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// The same as a user whom permissions bind: root becomes nobody.
inline int as_ordinary_user(const std::function<int()>& body) {
  return in_child([&] {
    constexpr int kNobody = 65534;
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0))
      return kSkipped;
    return body();
  });
}

}  // namespace qkv::test
