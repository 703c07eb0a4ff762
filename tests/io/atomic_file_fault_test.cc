// Writing files while system calls fail, and while the process is killed. This
// program has its own open, write, fsync, close, rename, ftruncate and fcntl,
// which the library's calls reach first.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <random>
#include <thread>

#include "qkv/io.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

namespace {

// What the calls do while armed.
struct Plan {
  bool armed = false;
  int fail_from = -1;   // the first call that fails, counted from 0
  int fail_until = -1;  // and the first after it that does not
  int error = 0;
  bool short_writes = false;  // a write takes one byte, and 7 of every 8
  std::vector<std::string> calls = {};
} plan;

// Counts the call; true when it is to fail.
bool fails(const char* name) {
  if (!plan.armed) return false;
  const int number = static_cast<int>(plan.calls.size());
  plan.calls.push_back(name);
  if (number < plan.fail_from || number >= plan.fail_until) return false;
  errno = plan.error;
  return true;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (fails(flags & O_DIRECTORY ? "open folder" : "open")) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

ssize_t write(int fd, const void* data, size_t bytes) {
  if (fails("write")) return -1;
  if (plan.armed && plan.short_writes) bytes = bytes < 8 ? 1 : bytes / 8 * 7;
  return syscall(SYS_write, fd, data, bytes);
}

int fsync(int fd) {
  return fails("fsync") ? -1 : static_cast<int>(syscall(SYS_fsync, fd));
}

// Linux closes the file even when close() reports an error.
int close(int fd) {
  const bool failing = fails("close");
  const int error = errno;
  const int result = static_cast<int>(syscall(SYS_close, fd));
  if (!failing) return result;
  errno = error;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  return fails("rename") ? -1 : static_cast<int>(syscall(SYS_rename, from, to));
}

int ftruncate(int fd, off_t length) noexcept {
  return fails("ftruncate")
             ? -1
             : static_cast<int>(syscall(SYS_ftruncate, fd, length));
}

}  // extern "C"

namespace qkv::io {
namespace {

using test::read_bytes;
using test::TempFolder;
using test::write_bytes;

const std::string kOld(1000, 'o');
const std::string kNew = [] {
  std::string text;
  while (text.size() < 200'000) text += std::to_string(text.size()) + ",";
  return text;
}();

// Writes kNew over kOld while the plan is in force, in pieces.
void save(const std::string& path) {
  plan.calls.clear();
  plan.armed = true;
  struct Disarm {
    ~Disarm() { plan.armed = false; }
  } disarm;
  AtomicFile file(path);
  file.write(std::string_view(kNew).substr(0, 100));
  file.write(std::string_view(kNew).substr(100, 90'000));
  file.write(std::string_view(kNew).substr(90'100));
  file.commit();
}

// The calls of a save without faults.
std::vector<std::string> recorded_calls() {
  TempFolder folder;
  plan = Plan{};
  save(write_bytes(folder / "a", kOld));
  return plan.calls;
}

TEST(AtomicFileFaults, DataIsDurableBeforeTheNameAndTheNameAfterwards) {
  std::vector<std::string> calls = recorded_calls();
  // Runs of writes count once.
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  EXPECT_EQ(calls, (std::vector<std::string>{"open", "ftruncate", "write",
                                             "fsync", "close", "rename",
                                             "open folder", "fsync", "close"}));
}

// Every call fails, with every error, once or from then on.
TEST(AtomicFileFaults, EachFailingCallLeavesOldOrNewAndNoRubbish) {
  const std::vector<std::string> calls = recorded_calls();
  const auto renaming = std::find(calls.begin(), calls.end(), "rename");
  const int rename_at = static_cast<int>(renaming - calls.begin());
  for (int at = 0; at < static_cast<int>(calls.size()); ++at)
    for (const int error : {ENOSPC, EIO, EDQUOT})
      for (const bool persistent : {false, true}) {
        SCOPED_TRACE(calls[at] + " " + std::to_string(at) +
                     (persistent ? " and all after it" : ""));
        TempFolder folder;
        const std::string path = write_bytes(folder / "a", kOld);
        plan = Plan{.fail_from = at,
                    .fail_until = persistent ? 1 << 20 : at + 1,
                    .error = error};
        bool failed = false;
        try {
          save(path);
        } catch (const Error& e) {
          failed = true;
          EXPECT_EQ(e.kind(), ErrorKind::io);
          EXPECT_EQ(std::string(e.what()).find(path + ": cannot "), 0u);
          EXPECT_NE(std::string(e.what()).find(std::strerror(error)),
                    std::string::npos);
        }
        const std::string content = read_bytes(path);
        if (at <= rename_at) {
          EXPECT_TRUE(failed);
          EXPECT_EQ(content, kOld);
        } else {
          EXPECT_EQ(content, kNew);
        }
        EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
      }
}

TEST(AtomicFileFaults, InterruptedCallsAreMadeAgain) {
  const std::vector<std::string> calls = recorded_calls();
  for (int at = 0; at < static_cast<int>(calls.size()); ++at) {
    if (calls[at] == "rename") continue;  // not among rename's errors
    SCOPED_TRACE(calls[at] + " " + std::to_string(at));
    TempFolder folder;
    const std::string path = write_bytes(folder / "a", kOld);
    plan = Plan{.fail_from = at, .fail_until = at + 3, .error = EINTR};
    if (calls[at] == "close") plan.fail_until = at + 1;
    save(path);
    EXPECT_EQ(read_bytes(path), kNew);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
  }
}

TEST(AtomicFileFaults, ShortWritesGoOn) {
  TempFolder folder;
  plan = Plan{.short_writes = true};
  save(write_bytes(folder / "a", kOld));
  EXPECT_EQ(read_bytes(folder / "a"), kNew);
  EXPECT_GT(plan.calls.size(), 20u);
}

// A process that saves without end is killed, again and again.
TEST(AtomicFileFaults, AKillLeavesAWholeCheckpoint) {
  TempFolder folder;
  const std::string path = folder / "last.safetensors";
  const auto save_step = [&](int step) {
    write_safetensors(path,
                      {{"w", Tensor::full({20'000}, step)},
                       {"m", Tensor::full({30'000}, step)}},
                      {{"step", std::to_string(step)}}, {.checksums = true});
  };
  plan = Plan{};
  const auto start = std::chrono::steady_clock::now();
  const auto since_start = [&] {
    return std::chrono::steady_clock::now() - start;
  };
  save_step(0);
  const auto once = since_start();  // a disk may be slow to sync
  std::mt19937 random(1);
  int last = 0, different = 0;
  for (int round = 0; round < 200 && since_start() < std::chrono::seconds(20);
       ++round) {
    const pid_t child = fork();
    if (child == 0)
      for (int step = last + 1;; ++step) save_step(step);
    std::this_thread::sleep_for(once * (random() % 1000) / 300);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);

    const SafetensorsFile file(path);
    const int step = std::stoi(file.metadata().at("step"));
    ASSERT_GE(step, last);
    for (const char* name : {"w", "m"}) {
      const auto values = file.read(name).to_vector<float>();
      ASSERT_EQ(values.front(), step);
      ASSERT_EQ(values.back(), step);
    }
    different += step != last;
    last = step;
  }
  EXPECT_GT(different, 5);  // the kills met running saves
  save_step(last + 1);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"last.safetensors"});
}

}  // namespace
}  // namespace qkv::io
