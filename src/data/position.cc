#include "data/position.h"

#include "core/check.h"
#include "core/json.h"

namespace qkv::data {
namespace {

[[noreturn]] void fail_not_started() {
  fail_input(
      "[data] the data set was not started: call its start(rng) once, after "
      "the model was made");
}

}  // namespace

TorchRng& Position::started() {
  if (!rng) fail_not_started();
  return *rng;
}

std::string Position::str() const {
  if (!rng) fail_not_started();
  return nlohmann::ordered_json{{"data", fingerprint}, {"rng", rng->state()}}
      .dump();
}

void Position::set(const std::string& text) {
  const std::string where = "data position";
  const nlohmann::json state = parse_json(text, where);
  if (!state.is_object() || !state.contains("data") || !state.contains("rng") ||
      !state["data"].is_string() || !state["rng"].is_array())
    fail_input("{}: must hold 'data' and 'rng'", where);
  if (state["data"] != fingerprint)
    fail_input(
        "the training data are not those of the checkpoint: they "
        "changed since, or other options or another seed were given");
  std::vector<std::uint32_t> words;
  for (const nlohmann::json& word : state["rng"]) {
    if (!word.is_number_unsigned() || word.get<std::uint64_t>() > 0xFFFFFFFFu)
      fail_input("{}: 'rng' must hold numbers of 32 bits", where);
    words.push_back(word.get<std::uint32_t>());
  }
  TorchRng restored(0);
  restored.set_state(words);
  rng = restored;
}

}  // namespace qkv::data
