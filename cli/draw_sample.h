// One sample of a model, as `sample` prints it and a training shows it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "qkv/data.h"
#include "qkv/generate.h"
#include "qkv/tokenizer.h"

namespace qkv::cli {

struct Sample {
  std::string text;         // prompt and what was generated
  std::int64_t tokens = 0;  // generated, a stop token too
};

// on_piece, where given, gets the text of each new token as it comes. Tokens
// that only pad the model's vocabulary are never chosen; items end at their
// stop token.
Sample draw_sample(
    LanguageModel& model, const Tokenizer& tokenizer,
    const std::vector<std::int64_t>& prompt, std::int64_t max_tokens,
    const generate::SampleOptions& options,
    const std::function<void(const std::string& piece)>& on_piece = {});

// What the model makes of the i-th prompt of the data: the whole item or so
// many tokens of text, with what the data says of it. Same model, same text.
std::string judged_sample(LanguageModel& model, const data::Dataset& dataset,
                          std::int64_t i, std::int64_t tokens);

}  // namespace qkv::cli
