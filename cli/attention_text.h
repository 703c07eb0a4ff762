// The texts that qkv attend shows, from a model or from somebody else's files.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "qkv/bundle.h"
#include "qkv/inspect.h"
#include "qkv/plot.h"
#include "qkv/tensor.h"

namespace qkv::cli {

// What to show of a model or of a file: all layers or heads where they are -1.
struct HeadChoice {
  int layer = -1, head = -1;
  inspect::Stage stage = inspect::Stage::weights;
};

// 1, and the rounding of half precision.
inline constexpr float kMostWeight = 1.01F;

// A text with its heads.
struct AttentionText {
  std::vector<std::int64_t> ids;  // none where the numbers come from a file
  plot::Attention attention;
};

std::vector<plot::Token> tokens_of(const Tokenizer& tokenizer,
                                   const std::vector<std::int64_t>& ids);

// The prompt as ids, its last ones where it is longer than the context (a note
// says so).
std::vector<std::int64_t> fitting_ids(const Bundle& bundle,
                                      const std::string& prompt);

AttentionText read_model(const Bundle& bundle, const std::string& prompt,
                         const HeadChoice& choice);

// WEIGHTS.npy of shape (T,S), (H,T,S) or (L,H,T,S); the tokens of its rows and,
// where they are not the same, of its columns. Weights that are all 0 above the
// diagonal count as hidden there. Throws naming the file, what is wrong in it
// and what to do.
AttentionText read_weights(const std::string& weights,
                           const std::string& tokens,
                           const std::string& key_tokens,
                           const HeadChoice& choice);

// {"tokens":…, "ids":…, "heads":[{"layer":0, "head":0, "values":[[…]]}]}; null
// for a hidden pair.
nlohmann::ordered_json as_json(const AttentionText& text);

// (texts, layers, heads, T, S) f32, without the first of them for one text. A
// hidden pair is what the softmax makes of it and what it sees: weight 0, score
// -inf. Throws where the texts differ in length.
Tensor as_tensor(const std::vector<AttentionText>& texts);

}  // namespace qkv::cli
