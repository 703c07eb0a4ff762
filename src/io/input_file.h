// A regular file opened for reading.
#pragma once

#include <cstdint>
#include <string>

namespace qkv::io {

class InputFile {
 public:
  // Throws, naming the reason, on anything but a readable regular file. Never
  // waits, as opening a pipe would.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }  // bytes, when it was opened

  // Exactly `bytes` bytes from `offset`; throws when the file ends before.
  void read(std::int64_t offset, void* target, std::int64_t bytes) const;

 private:
  std::string path_;
  int fd_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace qkv::io
