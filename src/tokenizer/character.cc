#include "tokenizer/character.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/check.h"
#include "core/json.h"
#include "core/text.h"

namespace qkv {
namespace {

std::string utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

bool between(char32_t c, char32_t first, char32_t last) {
  return first <= c && c <= last;
}

// Marks that sit on the character before them.
bool combining(char32_t c) {
  return between(c, 0x0300, 0x036F) || between(c, 0x1AB0, 0x1AFF) ||
         between(c, 0x1DC0, 0x1DFF) || between(c, 0x20D0, 0x20FF) ||
         between(c, 0xFE20, 0xFE2F);
}

// What shows nothing, or steers what is around it: spaces of all widths,
// zero-width characters, the direction of writing, C1 controls.
bool invisible(char32_t c) {
  return between(c, 0x80, 0xA0) || c == 0xAD || c == 0x061C || c == 0x1680 ||
         c == 0x180E || between(c, 0x2000, 0x200F) ||
         between(c, 0x2028, 0x202F) || between(c, 0x205F, 0x206F) ||
         c == 0x3000 || c == 0xFEFF || between(c, 0xE0000, 0xE007F);
}

std::string display(char32_t c) {
  if (c == ' ') return "␣";
  if (c == '\n') return "↵";
  if (c == '\t') return "→";
  if (c == '\r') return "␍";
  if (c < 0x20) return utf8(std::u32string(1, 0x2400 + c));
  if (c == 0x7F) return "␡";
  if (invisible(c)) return fmt::format("⟨{:04X}⟩", static_cast<unsigned>(c));
  return (combining(c) ? "◌" : "") + utf8(std::u32string(1, c));
}

}  // namespace

std::unique_ptr<Tokenizer> character_tokenizer(std::string_view text,
                                               bool boundary) {
  std::vector<bool> seen(0x110000);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t start = at;
    const int c = decode_utf8(text, at);
    if (c < 0) fail_input("the text is not UTF-8 at byte {}", start);
    seen[static_cast<std::size_t>(c)] = true;
  }
  std::u32string characters;
  for (std::size_t c = 0; c < seen.size(); ++c)
    if (seen[c]) characters += static_cast<char32_t>(c);
  if (characters.empty()) fail_input("the text has no characters");
  return std::make_unique<CharacterTokenizer>(std::move(characters), boundary);
}

CharacterTokenizer::CharacterTokenizer(std::u32string characters, bool boundary)
    : characters_(std::move(characters)), first_(boundary ? 1 : 0) {}

std::unique_ptr<Tokenizer> CharacterTokenizer::from_json(
    const nlohmann::json& json, const std::string& where) {
  const auto characters = json.find("characters");
  const auto boundary = json.find("boundary");
  if (characters == json.end() || !characters->is_string())
    fail_input("{}: 'characters' must be a text", where);
  if (boundary == json.end() || !boundary->is_boolean())
    fail_input("{}: 'boundary' must be true or false", where);
  const auto& text = characters->get_ref<const std::string&>();
  std::u32string code_points;
  std::size_t at = 0;
  while (at < text.size()) {
    const int c = decode_utf8(text, at);
    if (c < 0) fail_input("{}: 'characters' is not UTF-8", where);
    if (!code_points.empty() && static_cast<char32_t>(c) <= code_points.back())
      fail_input(
          "{}: 'characters' must be different and in order, but {} "
          "follows {}",
          where, display(c), display(code_points.back()));
    code_points += static_cast<char32_t>(c);
  }
  if (code_points.empty()) fail_input("{}: 'characters' is empty", where);
  return std::make_unique<CharacterTokenizer>(std::move(code_points),
                                              boundary->get<bool>());
}

std::int64_t CharacterTokenizer::vocab_size() const {
  return first_ + std::ssize(characters_);
}

std::int64_t CharacterTokenizer::id_of(char32_t c) const {
  const auto found =
      std::lower_bound(characters_.begin(), characters_.end(), c);
  if (found == characters_.end() || *found != c) return -1;
  return first_ + (found - characters_.begin());
}

void CharacterTokenizer::unknown(char32_t c, std::int64_t position) const {
  const std::string known = utf8(characters_);
  fail_input(
      "U+{:04X} '{}' at character {} is not in the vocabulary; its {} "
      "characters are {}",
      static_cast<unsigned>(c), display(c), position, characters_.size(),
      quote(known));
}

std::vector<std::int64_t> CharacterTokenizer::encode(
    std::string_view text) const {
  std::vector<std::int64_t> ids;
  ids.reserve(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    const int c = decode_utf8(text, at);
    if (c < 0)
      fail_input("the text is not UTF-8: byte 0x{:02X} after {} characters",
                 static_cast<unsigned char>(text[at]), ids.size());
    const std::int64_t id = id_of(static_cast<char32_t>(c));
    if (id < 0) unknown(static_cast<char32_t>(c), std::ssize(ids) + 1);
    ids.push_back(id);
  }
  return ids;
}

std::int64_t CharacterTokenizer::code_point(std::int64_t id) const {
  if (id < 0 || id >= vocab_size())
    fail_input("token {} is outside the vocabulary of {}", id, vocab_size());
  if (id < first_) return -1;
  return characters_[static_cast<std::size_t>(id - first_)];
}

std::string CharacterTokenizer::decode(
    std::span<const std::int64_t> ids) const {
  std::string text;
  for (const std::int64_t id : ids) {
    const std::int64_t c = code_point(id);
    if (c >= 0) append_utf8(text, static_cast<char32_t>(c));
  }
  return text;
}

std::string CharacterTokenizer::token_text(std::int64_t id) const {
  const std::int64_t c = code_point(id);
  return c < 0 ? "·" : display(static_cast<char32_t>(c));
}

std::optional<std::int64_t> CharacterTokenizer::start_token() const {
  if (first_ == 0) return std::nullopt;
  return 0;
}

std::optional<std::int64_t> CharacterTokenizer::stop_token() const {
  return start_token();
}

std::string CharacterTokenizer::to_json() const {
  return nlohmann::ordered_json{{"kind", kind()},
                                {"characters", utf8(characters_)},
                                {"boundary", first_ == 1}}
      .dump();
}

}  // namespace qkv
