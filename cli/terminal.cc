#include "cli/terminal.h"

#include <fmt/core.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace qkv::cli {
namespace {

bool set_and_not_empty(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

}  // namespace

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

bool can_redraw(int descriptor) {
  const char* term = std::getenv("TERM");
  return is_terminal(descriptor) && term && std::strcmp(term, "dumb") != 0;
}

bool can_colour(int descriptor) {
  return can_redraw(descriptor) && !set_and_not_empty("NO_COLOR");
}

bool utf8_locale() {
  // The C library's locale is left alone (numbers keep their point): the
  // environment says what the terminal shows.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (set_and_not_empty(name)) {
      const std::string_view value = std::getenv(name);
      return value.find("UTF-8") != value.npos ||
             value.find("utf8") != value.npos ||
             value.find("UTF8") != value.npos ||
             value.find("utf-8") != value.npos;
    }
  return false;
}

int columns() {
  if (const char* text = std::getenv("COLUMNS")) {
    const int n = std::atoi(text);
    if (n > 0) return n;
  }
  winsize size{};
  for (int descriptor : {STDERR_FILENO, STDOUT_FILENO})
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
      return size.ws_col;
  return 80;
}

std::vector<std::string> wrap(std::string_view text, int columns) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string line;
    for (std::string_view rest = text.substr(0, end); !rest.empty();) {
      const auto blank = std::min(rest.find(' '), rest.size());
      const std::string word(rest.substr(0, blank));
      rest.remove_prefix(std::min(blank + 1, rest.size()));
      if (!line.empty() &&
          static_cast<int>(line.size() + 1 + word.size()) > columns)
        lines.push_back(std::exchange(line, word));
      else
        line += (line.empty() ? "" : " ") + word;
    }
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string with_commas(std::int64_t n) {
  std::string digits = std::to_string(n < 0 ? -n : n);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  return (n < 0 ? "-" : "") + digits;
}

std::string short_count(double n) {
  if (n < 1e4) return fmt::format("{:.0f}", n);
  if (n < 1e6) return fmt::format("{:.1f} K", n / 1e3);
  if (n < 1e9) return fmt::format("{:.1f} M", n / 1e6);
  if (n < 1e12) return fmt::format("{:.2f} G", n / 1e9);
  return fmt::format("{:.2f} T", n / 1e12);
}

std::string bytes_text(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1024.0 * 1024) return fmt::format("{:.1f} KiB", bytes / 1024);
  if (bytes < 1024.0 * 1024 * 1024)
    return fmt::format("{:.1f} MiB", bytes / (1024.0 * 1024));
  return fmt::format("{:.2f} GiB", bytes / (1024.0 * 1024 * 1024));
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto s = static_cast<std::int64_t>(std::llround(seconds));
  if (s < 100) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {:02} h", s / 86400, s / 3600 % 24);
}

plot::Terminal this_terminal() {
  plot::Terminal terminal;
  terminal.columns = columns();
  terminal.colour = can_colour(STDOUT_FILENO);
  terminal.unicode = utf8_locale();
  return terminal;
}

void flush_output() {
  if (std::fflush(stdout) != 0)
    throw std::system_error(errno, std::generic_category());
}

void note(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const bool control =
        (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F;
    shown += control ? fmt::format("\\x{:02x}", c) : std::string(1, c);
  }
  to_stderr(shown + "\n");
}

void to_stderr(const std::string& text) {
  // Work does not end because nobody listens.
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace qkv::cli
