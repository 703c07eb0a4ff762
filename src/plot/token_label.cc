#include "plot/token_label.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <vector>

#include "core/text.h"

namespace qkv::plot {
namespace {

bool shapeless(int code_point) {
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_CN:  // not assigned
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:  // zero-width, bidi
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return true;
    default:
      return false;
  }
}

bool combining(int code_point) {
  const utf8proc_category_t category = utf8proc_category(code_point);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

std::string visible(int c, bool first) {
  switch (c) {
    case ' ':
      return "·";
    case '\n':
      return "↵";
    case '\r':
      return "␍";
    case '\t':
      return "→";
    case 0x7F:
      return "␡";
  }
  std::string out;
  if (c < 0x20) {
    append_utf8(out, 0x2400 + c);  // the pictures of the control characters
  } else if (shapeless(c)) {
    out = fmt::format("⟨{:02X}⟩", c);
  } else {
    if (first && combining(c)) out = "◌";
    append_utf8(out, c);
  }
  return out;
}

// The parts that a label may be cut between.
std::vector<std::string> visible_parts(const std::string& bytes) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  const std::size_t spaces =
      std::min(bytes.find_first_not_of(' '), bytes.size());
  if (spaces > 4) {
    parts.push_back(fmt::format("·×{}", spaces));
    at = spaces;
  }
  while (at < bytes.size()) {
    const bool first = at == 0;
    const int c = decode_utf8(bytes, at);
    parts.push_back(c >= 0 ? visible(c, first)
                           : fmt::format("‹{:02X}›", static_cast<unsigned char>(
                                                         bytes[at++])));
  }
  return parts;
}

}  // namespace

std::string ascii_label(std::string_view label) {
  std::string out;
  for (std::size_t at = 0; at < label.size();) {
    const int c = decode_utf8(label, at);
    if (c < 0) ++at;
    switch (c) {
      case U'·':
        out += '_';
        break;
      case U'↵':
        out += "\\n";
        break;
      case U'␍':
        out += "\\r";
        break;
      case U'→':
        out += "\\t";
        break;
      case U'…':
        out += '~';
        break;
      case U'⟦':
        out += '[';
        break;
      case U'⟧':
        out += ']';
        break;
      case U'‹':
      case U'⟨':
        out += '<';
        break;
      case U'›':
      case U'⟩':
        out += '>';
        break;
      default:
        out += c >= 0x20 && c < 0x7F ? std::string(1, static_cast<char>(c))
                                     : fmt::format("<{:X}>", c);
    }
  }
  return out;
}

int display_columns(std::string_view utf8) {
  int columns = 0;
  for (std::size_t at = 0; at < utf8.size();) {
    const int c = decode_utf8(utf8, at);
    if (c < 0) ++at;
    columns += c < 0 ? 1 : utf8proc_charwidth(c);
  }
  return columns;
}

bool has_right_to_left(std::string_view utf8) {
  for (std::size_t at = 0; at < utf8.size();) {
    const int c = decode_utf8(utf8, at);
    if (c < 0) {
      ++at;
      continue;
    }
    const auto direction = utf8proc_get_property(c)->bidi_class;
    if (direction == UTF8PROC_BIDI_CLASS_R ||
        direction == UTF8PROC_BIDI_CLASS_AL)
      return true;
  }
  return false;
}

bool reads_as_text(const Token& token) {
  if (token.special || token.bytes.empty()) return false;
  for (std::size_t at = 0; at < token.bytes.size();) {
    const bool first = at == 0;
    const int c = decode_utf8(token.bytes, at);
    if (c == ' ' || c == '\n' || c == '\t') continue;
    if (c < 0 || shapeless(c) || (first && combining(c))) return false;
  }
  return true;
}

std::string token_label(const Token& token, int columns) {
  if (token.bytes.empty()) return "∅";
  std::vector<std::string> parts = visible_parts(token.bytes);
  if (token.special) {
    parts.insert(parts.begin(), "⟦");
    parts.push_back("⟧");
  }
  int width = 0;
  for (const std::string& part : parts) width += display_columns(part);
  if (width <= columns) return fmt::format("{}", fmt::join(parts, ""));

  // As much of the head as of the tail, one column for the ellipsis.
  std::string head, tail;
  const int room = columns - 1;
  int head_width = 0, tail_width = 0;
  std::size_t i = 0, j = parts.size();
  while (i < j) {
    const bool front = head_width <= tail_width;
    const std::string& part = front ? parts[i] : parts[j - 1];
    const int part_width = display_columns(part);
    if (head_width + tail_width + part_width > room) break;
    (front ? head_width : tail_width) += part_width;
    if (front) {
      head += part;
      ++i;
    } else {
      tail = part + tail;
      --j;
    }
  }
  return head + "…" + tail;
}

}  // namespace qkv::plot
