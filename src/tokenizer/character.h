// A token is a character: a Unicode code point.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "qkv/tokenizer.h"

namespace qkv {

class CharacterTokenizer final : public Tokenizer {
 public:
  // characters: code points in increasing order, at least one. boundary: id 0
  // starts and stops an item, and the characters follow from id 1.
  CharacterTokenizer(std::u32string characters, bool boundary);
  static std::unique_ptr<Tokenizer> from_json(const nlohmann::json& json,
                                              const std::string& where);

  std::string_view kind() const override { return "character"; }
  std::int64_t vocab_size() const override;
  std::vector<std::int64_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int64_t> ids) const override;
  std::string token_text(std::int64_t id) const override;
  std::optional<std::int64_t> start_token() const override;
  std::optional<std::int64_t> stop_token() const override;
  std::string to_json() const override;

 private:
  // The code point of an id; -1 for the boundary. Throws on other ids.
  std::int64_t code_point(std::int64_t id) const;
  std::int64_t id_of(char32_t c) const;  // -1 when there is none
  [[noreturn]] void unknown(char32_t c, std::int64_t position) const;

  std::u32string characters_;
  std::int64_t first_;  // the id of characters_[0]
};

}  // namespace qkv
