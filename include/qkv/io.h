// Files: text, safetensors, npy. What is read is never trusted; what is written
// appears whole or not at all. Reading throws ErrorKind::input, writing
// ErrorKind::io; both name the file first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qkv/export.h"
#include "qkv/tensor.h"

namespace qkv::io {

// ---- Text -------------------------------------------------------------------

inline constexpr std::int64_t kMaxTextBytes = std::int64_t{1} << 30;

// The whole of a regular UTF-8 file, without its byte order mark. Throws when
// it is missing, unreadable, a directory, a pipe or a device, empty, longer
// than max_bytes, or holds a NUL or bytes that are not UTF-8 (with their
// place).
QKV_API std::string read_text_file(const std::string& path,
                                   std::int64_t max_bytes = kMaxTextBytes);

// ---- Writing ----------------------------------------------------------------

// Replaces a file in one step: the bytes go to "PATH.tmp" in the same folder,
// commit() makes them durable and renames. Whatever happens before (an error, a
// crash, a kill), PATH still holds what it held; an error also removes the
// temporary file, and the next writer takes over one that a kill left behind.
// One writer a file at a time. A symbolic link is followed; a device or a pipe
// (/dev/stdout) is written directly.
class QKV_API AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();  // without commit(): nothing happened
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same in one call.
QKV_API void write_file(const std::string& path, std::string_view content);

// ---- safetensors ------------------------------------------------------------

using Metadata = std::map<std::string, std::string>;

struct TensorEntry {
  std::string name;
  std::string_view stored;     // the type's name in the file: "F32", "F8_E4M3"
  std::optional<DType> dtype;  // empty when qkv has no such type
  Shape shape;
  std::int64_t begin = 0, end = 0;  // bytes, from the start of the data
};

// A safetensors file whose header was read and checked. It stays open: a rename
// over it changes nothing here. Numbers are read when asked for, straight into
// their tensor.
class QKV_API SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  const std::string& path() const;
  const Metadata& metadata() const;  // without the checksums
  // True when the file carries checksums: read() then verifies them.
  bool has_checksums() const;
  const std::vector<TensorEntry>& entries() const;  // in the order of the data
  const TensorEntry* find(std::string_view name) const;  // null when absent

  // In the dtype that is stored. Throws when the name is absent, the type
  // unsupported, the checksum wrong, or a BOOL is neither 0 nor 1.
  Tensor read(std::string_view name) const;
  // The same, into the contiguous memory of a tensor of that shape and dtype.
  void read_into(std::string_view name, Tensor& target) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct SafetensorsOptions {
  // Adds metadata entries: the XXH3 of every tensor ("qkv.checksum:NAME") and
  // of the header ("qkv.checksum"). SafetensorsFile verifies them.
  bool checksums = false;
};

// Order of the data, padding and limits as the format's own writer. Throws
// ErrorKind::input, before it touches the file, on a name that is given twice
// or is not allowed, and on a header that readers would refuse.
QKV_API void write_safetensors(const std::string& path,
                               const NamedTensors& tensors,
                               const Metadata& metadata = {},
                               const SafetensorsOptions& options = {});

// ---- npy
// ----------------------------------------------------------------------

// NumPy's array file, versions 1 to 3, little-endian f2 f4 f8 i4 i8 u1 u2 b1,
// either memory order; the tensor is row-major.
QKV_API Tensor read_npy(const std::string& path);
// Version 1, row-major. There is no bf16 in npy: that throws.
QKV_API void write_npy(const std::string& path, const Tensor& tensor);

// ---- Checksums
// ----------------------------------------------------------------

// XXH3 (64 bits) of the numbers in row-major order: 16 hexadecimal digits.
QKV_API std::string checksum(const Tensor& tensor);
QKV_API std::string checksum(std::string_view bytes);

}  // namespace qkv::io
