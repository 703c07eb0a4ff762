// Text to ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/export.h"

namespace qkv {

class QKV_API Tokenizer {
 public:
  virtual ~Tokenizer();
  virtual std::string_view kind() const = 0;  // "character"
  virtual std::int64_t vocab_size() const = 0;
  // Throws naming the character, its code point and its place when it has no
  // id.
  virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
  // Ids outside the vocabulary throw; start and stop tokens give nothing.
  virtual std::string decode(std::span<const std::int64_t> ids) const = 0;
  // One token as people should see it: "e", "␣", "↵", "·" for start/stop.
  virtual std::string token_text(std::int64_t id) const = 0;
  // Where items begin and end ("lines", makemore's 0); empty for running text.
  virtual std::optional<std::int64_t> start_token() const = 0;
  virtual std::optional<std::int64_t> stop_token() const = 0;
  // Everything needed to make it again, as JSON.
  virtual std::string to_json() const = 0;
};

// The ids that generation goes on from: the start token, where items have one,
// then the text's. Never empty: id 0 where there is neither.
QKV_API std::vector<std::int64_t> encode_prompt(const Tokenizer& tokenizer,
                                                std::string_view text);

// A token for each different character (Unicode code point) of text, in order
// of code point. boundary: id 0 starts and stops an item, and the characters
// follow. Throws when text is empty or not UTF-8.
QKV_API std::unique_ptr<Tokenizer> character_tokenizer(std::string_view text,
                                                       bool boundary);

// The tokenizer that to_json() described; where names the source in errors.
QKV_API std::unique_ptr<Tokenizer> tokenizer_from_json(
    const std::string& json, const std::string& where);

}  // namespace qkv
