#include "qkv/tokenizer.h"

#include "core/check.h"
#include "core/json.h"
#include "core/text.h"
#include "tokenizer/character.h"

namespace qkv {
namespace {

struct TokenizerKind {
  std::string_view name;
  std::unique_ptr<Tokenizer> (*from_json)(const nlohmann::json& json,
                                          const std::string& where);
};

// A new kind is a file beside this one and a line here.
constexpr TokenizerKind kKinds[] = {
    {"character", CharacterTokenizer::from_json},
};

}  // namespace

Tokenizer::~Tokenizer() = default;

std::vector<std::int64_t> encode_prompt(const Tokenizer& tokenizer,
                                        std::string_view text) {
  std::vector<std::int64_t> ids = tokenizer.encode(text);
  if (const auto start = tokenizer.start_token())
    ids.insert(ids.begin(), *start);
  if (ids.empty()) ids.push_back(0);
  return ids;
}

std::unique_ptr<Tokenizer> tokenizer_from_json(const std::string& json,
                                               const std::string& where) {
  const nlohmann::json value = parse_json(json, where);
  if (!value.is_object()) fail_input("{}: must be an object", where);
  const auto kind = value.find("kind");
  if (kind == value.end() || !kind->is_string())
    fail_input("{}: 'kind' must be a text", where);
  const auto& name = kind->get_ref<const std::string&>();
  std::string known;
  for (const TokenizerKind& k : kKinds) {
    if (k.name == name) return k.from_json(value, where);
    known += (known.empty() ? "" : ", ") + std::string(k.name);
  }
  fail_input("{}: there is no tokenizer {}; there is {}", where, quote(name),
             known);
}

}  // namespace qkv
