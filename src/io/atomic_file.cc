#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/check.h"
#include "qkv/io.h"

namespace qkv::io {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

std::string reason(int error) { return std::generic_category().message(error); }

// Calls again what a signal interrupted.
template <class Call>
auto retry(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result == -1 && errno == EINTR);
  return result;
}

// Past the file size limit (ulimit -f) a write raises SIGXFSZ, which would end
// the program. While one of these lives the write fails with EFBIG instead.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoFileSizeSignal() {
    const timespec now{};
    if (!sigismember(&before_, SIGXFSZ)) sigtimedwait(&signal_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_, before_;
};

// The file a symbolic link leads to; the path itself otherwise.
std::string follow(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode))
    return path;
  char* resolved = realpath(path.c_str(), nullptr);
  if (!resolved) return path;
  std::string target = resolved;
  std::free(resolved);
  return target;
}

}  // namespace

struct AtomicFile::State {
  std::string path;    // as it was given: for messages
  std::string target;  // what is replaced
  std::string temporary;
  bool direct = false;  // a device or a pipe: no temporary file
  bool renamed = false;
  int fd = -1;
  int lock = -1;  // keeps the lock on the temporary file beyond its closing
  std::string buffer;

  ~State() {
    if (!temporary.empty() && !renamed) unlink(temporary.c_str());
    if (fd >= 0) close(fd);
    if (lock >= 0) close(lock);
  }

  [[noreturn]] void fail(const char* what, int error) const {
    fail_io("{}: cannot {} it: {}", path, what, reason(error));
  }

  // Opens and locks the temporary file. The one found under the name after
  // locking must be the one locked: its last owner may just have renamed it.
  void open_temporary() {
    const std::string name = target + ".tmp";
    for (;;) {
      fd = retry([&] {
        return open(name.c_str(),
                    O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                    0666);
      });
      if (fd < 0) fail("write", errno);
      if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        fail_io("{}: another process is writing it (it has locked {})", path,
                name);
      struct stat opened, found;
      if (fstat(fd, &opened) == 0 && lstat(name.c_str(), &found) == 0 &&
          opened.st_ino == found.st_ino && opened.st_dev == found.st_dev) {
        if (!S_ISREG(opened.st_mode))
          fail_io("{}: cannot write it: {} is in the way", path, name);
        break;
      }
      close(fd);
      fd = -1;
    }
    temporary = name;
    lock = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (lock < 0 || retry([&] { return ftruncate(fd, 0); }) != 0)
      fail("write", errno);
  }

  void write_out(const char* data, std::size_t bytes) {
    const NoFileSizeSignal guard;
    while (bytes > 0) {
      const ssize_t done = retry(
          [&] { return ::write(fd, data, std::min(bytes, kMostAtOnce)); });
      if (done <= 0) fail("write", done < 0 ? errno : EIO);
      data += done;
      bytes -= static_cast<std::size_t>(done);
    }
  }

  void flush() {
    write_out(buffer.data(), buffer.size());
    buffer.clear();
  }

  void close_checked() {
    const int closing = fd;
    fd = -1;
    // After EINTR Linux has closed it all the same.
    if (close(closing) != 0 && errno != EINTR) fail("save", errno);
  }

  // Makes the rename durable. Where a folder may be written but not read, or
  // its file system cannot sync it, that is the system's affair.
  void sync_folder() const {
    std::filesystem::path folder = std::filesystem::path(target).parent_path();
    if (folder.empty()) folder = ".";
    const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return;
    const bool done =
        retry([&] { return fsync(file); }) == 0 || errno == EINVAL;
    const int error = errno;
    close(file);
    if (!done) fail("save", error);
  }
};

AtomicFile::AtomicFile(const std::string& path)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.path = path;
  if (path.empty()) fail_io("the name of the file to write is empty");
  s.target = follow(path);
  s.buffer.reserve(kBufferBytes);

  struct stat status;
  const bool exists = stat(s.target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    fail_io("{}: cannot write it: it is a directory", path);
  // A rename asks no permission of the file it replaces.
  if (exists && faccessat(AT_FDCWD, s.target.c_str(), W_OK, AT_EACCESS) != 0)
    s.fail("write", errno);
  if (exists && !S_ISREG(status.st_mode)) {
    s.direct = true;
    s.fd = retry([&] {
      return open(s.target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    });
    if (s.fd < 0) s.fail("write", errno);
    return;
  }
  s.open_temporary();
  // The new file is as private as the old one, where the file system has modes.
  if (exists) static_cast<void>(fchmod(s.fd, status.st_mode & 0777));
}

AtomicFile::~AtomicFile() = default;

void AtomicFile::write(const void* data, std::size_t bytes) {
  State& s = *state_;
  if (s.buffer.size() + bytes > kBufferBytes) s.flush();
  if (bytes > kBufferBytes)
    s.write_out(static_cast<const char*>(data), bytes);
  else
    s.buffer.append(static_cast<const char*>(data), bytes);
}

void AtomicFile::commit() {
  State& s = *state_;
  s.flush();
  if (!s.direct && retry([&] { return fsync(s.fd); }) != 0)
    s.fail("save", errno);
  s.close_checked();
  if (s.direct) return;
  if (rename(s.temporary.c_str(), s.target.c_str()) != 0) s.fail("save", errno);
  s.renamed = true;
  s.sync_folder();
}

void write_file(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace qkv::io
