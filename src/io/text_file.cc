#include <algorithm>

#include "core/check.h"
#include "core/text.h"
#include "io/input_file.h"
#include "qkv/io.h"

namespace qkv::io {
namespace {

void refuse_utf16(const std::string& path, std::string_view text) {
  const std::string_view start = text.substr(0, 2);
  if (start == "\xFF\xFE" || start == "\xFE\xFF")
    fail_input(
        "{}: it is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 FILE",
        path);
}

std::int64_t line_of(std::string_view text, std::size_t at) {
  return 1 + std::count(text.begin(), text.begin() + at, '\n');
}

}  // namespace

std::string read_text_file(const std::string& path, std::int64_t max_bytes) {
  const InputFile file(path);
  if (file.size() > max_bytes)
    fail_input("{}: it has {} bytes, more than the {} that are read", path,
               file.size(), max_bytes);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, text.data(), file.size());

  refuse_utf16(path, text);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (text.empty()) fail_input("{}: it is empty", path);
  if (const std::size_t nul = text.find('\0'); nul != text.npos)
    fail_input("{}: line {} holds a NUL (byte {}): text is wanted, not binary",
               path, line_of(text, nul), nul);
  if (const std::size_t bad = invalid_utf8(text); bad != text.npos)
    fail_input("{}: line {} is not UTF-8: byte 0x{:02X} at {}", path,
               line_of(text, bad), static_cast<unsigned char>(text[bad]), bad);
  return text;
}

}  // namespace qkv::io
