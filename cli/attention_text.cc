#include "cli/attention_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/picture_file.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "core/json.h"
#include "qkv/io.h"

namespace qkv::cli {
namespace {

using Json = nlohmann::ordered_json;

plot::Quantity quantity_of(inspect::Stage stage) {
  return stage == inspect::Stage::weights ? plot::Quantity::weights
                                          : plot::Quantity::scores;
}

// One token a line, or a JSON list of texts in FILE.json.
std::vector<plot::Token> read_tokens(const std::string& path) {
  const std::string text = io::read_text_file(path);
  std::vector<plot::Token> tokens;
  if (extension_of(path) == "json") {
    const auto list = parse_json(text, path);
    if (!list.is_array())
      fail_input("{}: must be a list of texts: [\"The\", \" cat\"]", path);
    for (const auto& token : list) {
      if (!token.is_string())
        fail_input("{}: entry {} is no text: {}", path, tokens.size(),
                   token.dump().substr(0, 40));
      tokens.push_back({token.get<std::string>()});
    }
    return tokens;
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    tokens.push_back({std::move(line)});
    begin = end + 1;
  }
  return tokens;
}

// Names the first number that cannot be what it should.
void check_values(const std::string& path, const plot::Attention& a) {
  const bool weights = a.quantity == plot::Quantity::weights;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const float v = a.values[i];
    const bool hidden = v == plot::kHidden;
    if (weights ? v >= 0 && v <= kMostWeight : hidden || std::isfinite(v))
      continue;
    const std::size_t row = i / a.keys, matrix = row / a.queries;
    const std::string where =
        fmt::format("layer {}, head {}, query {}, key {}", matrix / a.heads,
                    matrix % a.heads, row % a.queries, i % a.keys);
    if (!std::isfinite(v))
      fail_input("{}: {} at {}: replace it, by 0 where a mask hides the key",
                 path, v, where);
    fail_input(
        "{}: {} at {}: a weight lies between 0 and 1; draw scores by --stage "
        "scaled",
        path, v, where);
  }
}

// Whether all weights above the diagonal are 0, as behind a causal mask.
bool looks_causal(const plot::Attention& a) {
  if (a.quantity != plot::Quantity::weights || a.queries != a.keys ||
      a.queries < 2)
    return false;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const std::size_t row = i / a.keys % a.queries, column = i % a.keys;
    if (column > row && a.values[i] != 0) return false;
  }
  return true;
}

// Leaves one layer or head, if one is asked for.
void choose(const std::string& path, const HeadChoice& choice,
            plot::Attention& a) {
  if (choice.layer >= a.layers || choice.head >= a.heads)
    fail_input("{}: there is no layer {}, head {}: it has {} x {}", path,
               std::max(choice.layer, 0), std::max(choice.head, 0), a.layers,
               a.heads);
  const int first_layer = std::max(choice.layer, 0);
  const int first_head = std::max(choice.head, 0);
  const int layers = choice.layer < 0 ? a.layers : 1;
  const int heads = choice.head < 0 ? a.heads : 1;
  const std::size_t size = static_cast<std::size_t>(a.queries) * a.keys;
  std::vector<float> values;
  for (int layer = first_layer; layer < first_layer + layers; ++layer) {
    const auto begin =
        a.values.begin() +
        static_cast<std::ptrdiff_t>(
            (std::size_t{1} * layer * a.heads + first_head) * size);
    values.insert(values.end(), begin,
                  begin + static_cast<std::ptrdiff_t>(heads * size));
  }
  a.values = std::move(values);
  a.layers = layers;
  a.heads = heads;
  a.first_layer = first_layer;
  a.first_head = first_head;
}

}  // namespace

std::vector<plot::Token> tokens_of(const Tokenizer& tokenizer,
                                   const std::vector<std::int64_t>& ids) {
  std::vector<plot::Token> tokens;
  for (const std::int64_t& id : ids) {
    const std::string bytes = tokenizer.decode({&id, 1});
    const bool special = bytes.empty();
    tokens.push_back({special ? tokenizer.token_text(id) : bytes, special});
  }
  return tokens;
}

std::vector<std::int64_t> fitting_ids(const Bundle& bundle,
                                      const std::string& prompt) {
  auto ids = prompt_ids(*bundle.tokenizer, prompt);
  const auto context = static_cast<std::size_t>(bundle.model->block_size());
  if (ids.size() > context) {
    note(
        fmt::format("the prompt has {} tokens, the context {}: shown are the "
                    "last {}",
                    ids.size(), context, context));
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(context));
  }
  return ids;
}

AttentionText read_model(const Bundle& bundle, const std::string& prompt,
                         const HeadChoice& choice) {
  AttentionText text{fitting_ids(bundle, prompt), {}};
  const auto maps = inspect::attention_maps(
      *bundle.model, text.ids, choice.stage, choice.layer, choice.head);
  plot::Attention& a = text.attention;
  a.title = prompt;
  a.about =
      fmt::format("{} of {}, step {}",
                  choice.stage == inspect::Stage::weights ? "attention weights"
                                                          : "attention scores",
                  bundle.path, bundle.step);
  a.first_layer = maps.front().layer;
  a.first_head = maps.front().head;
  a.layers = maps.back().layer - maps.front().layer + 1;
  a.heads = maps.back().head - maps.front().head + 1;
  a.queries = a.keys = static_cast<int>(maps.front().length);
  a.query_tokens = tokens_of(*bundle.tokenizer, text.ids);
  a.causal = true;
  a.quantity = quantity_of(choice.stage);
  for (const auto& map : maps)
    a.values.insert(a.values.end(), map.values.begin(), map.values.end());
  return text;
}

AttentionText read_weights(const std::string& weights,
                           const std::string& tokens,
                           const std::string& key_tokens,
                           const HeadChoice& choice) {
  const Tensor numbers = io::read_npy(weights);
  const Shape& shape = numbers.shape();
  if (shape.rank() < 2 || shape.rank() > 4 || numbers.numel() == 0)
    fail_input(
        "{}: shape {}: (queries, keys), (heads, queries, keys) or (layers, "
        "heads, queries, keys) can be drawn",
        weights, shape.str());
  AttentionText text;
  plot::Attention& a = text.attention;
  a.title = weights;
  a.about = "attention of " + weights;
  a.quantity = quantity_of(choice.stage);
  const int rank = shape.rank();
  const auto extent = [&](int i) {
    return i < 0 ? 1 : static_cast<int>(shape.dim(i));
  };
  a.layers = extent(rank - 4);
  a.heads = extent(rank - 3);
  a.queries = extent(rank - 2);
  a.keys = extent(rank - 1);
  if (a.queries != a.keys && key_tokens.empty())
    fail_input(
        "{}: {} queries and {} keys: not square; name the file with the keys' "
        "tokens by --key-tokens",
        weights, a.queries, a.keys);
  const auto read_side = [&](const std::string& path, int count,
                             const char* side) {
    auto list = read_tokens(path);
    if (list.size() != static_cast<std::size_t>(count))
      fail_input("{}: {} tokens for the {} {} of {}: give one for each", path,
                 list.size(), count, side, weights);
    return list;
  };
  a.query_tokens = read_side(tokens, a.queries, "queries");
  if (!key_tokens.empty()) a.key_tokens = read_side(key_tokens, a.keys, "keys");
  a.values = numbers.to_vector<float>();
  check_values(weights, a);
  a.causal = key_tokens.empty() && looks_causal(a);
  choose(weights, choice, a);
  return text;
}

Json as_json(const AttentionText& text) {
  const plot::Attention& a = text.attention;
  const auto texts = [](const std::vector<plot::Token>& tokens) {
    Json list = Json::array();
    for (const auto& token : tokens) list.push_back(token.bytes);
    return list;
  };
  Json heads = Json::array();
  const float* value = a.values.data();
  for (int layer = 0; layer < a.layers; ++layer)
    for (int head = 0; head < a.heads; ++head) {
      Json rows = Json::array();
      for (int q = 0; q < a.queries; ++q) {
        Json row = Json::array();
        for (int k = 0; k < a.keys; ++k, ++value) {
          const bool hidden = *value == plot::kHidden ||
                              (a.causal && k > q + a.keys - a.queries);
          row.push_back(hidden ? Json(nullptr) : Json(*value));
        }
        rows.push_back(std::move(row));
      }
      heads.push_back(Json{{"layer", a.first_layer + layer},
                           {"head", a.first_head + head},
                           {"values", std::move(rows)}});
    }
  Json out{{"tokens", texts(a.query_tokens)}};
  if (!a.key_tokens.empty()) out["key_tokens"] = texts(a.key_tokens);
  if (!text.ids.empty()) out["ids"] = text.ids;
  out["heads"] = std::move(heads);
  return out;
}

Tensor as_tensor(const std::vector<AttentionText>& texts) {
  const plot::Attention& a = texts.front().attention;
  std::vector<float> values;
  for (const AttentionText& text : texts) {
    const plot::Attention& b = text.attention;
    if (b.queries != a.queries || b.keys != a.keys)
      fail_input(
          "an npy holds texts of one length, not of {} and {} tokens: write "
          "FILE.json, or one file for each",
          a.queries, b.queries);
    values.insert(values.end(), b.values.begin(), b.values.end());
  }
  if (a.quantity == plot::Quantity::weights)
    std::replace(values.begin(), values.end(), plot::kHidden, 0.0F);
  const auto n = static_cast<std::int64_t>(texts.size());
  return Tensor::from<float>(
      n == 1 ? Shape{a.layers, a.heads, a.queries, a.keys}
             : Shape{n, a.layers, a.heads, a.queries, a.keys},
      values);
}

}  // namespace qkv::cli
