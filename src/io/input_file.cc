#include "io/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/check.h"

namespace qkv::io {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  if (path.empty()) fail_input("the file name is empty");
  if (path.find('\0') != path.npos)
    fail_input("{}: a file name cannot hold a NUL", path.c_str());
  do {
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (fd_ < 0 && errno == EINTR);
  if (fd_ < 0) fail_input("{}: cannot open it: {}", path, reason(errno));
  struct stat status;
  const bool known = fstat(fd_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    const int error = errno;
    close(fd_);
    if (!known) fail_input("{}: cannot read it: {}", path, reason(error));
    fail_input("{}: it is {}; give a regular file", path,
               kind_of(status.st_mode));
  }
  size_ = status.st_size;
}

InputFile::~InputFile() { close(fd_); }

void InputFile::read(std::int64_t offset, void* target,
                     std::int64_t bytes) const {
  constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 30;
  char* to = static_cast<char*>(target);
  while (bytes > 0) {
    const ssize_t got = pread(fd_, to, std::min(bytes, kMostAtOnce), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_input("{}: cannot read it: {}", path_, reason(errno));
    if (got == 0)
      fail_input("{}: it ends at byte {}, {} more were expected", path_, offset,
                 bytes);
    to += got;
    offset += got;
    bytes -= got;
  }
}

}  // namespace qkv::io
