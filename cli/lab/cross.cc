// A small encoder and decoder with cross-attention learn to write a word
// backwards: where the decoder looks is its alignment.
#include <fmt/core.h>

#include <algorithm>

#include "cli/lab/small_training.h"
#include "qkv/autograd.h"
#include "qkv/nn/block.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kLetters = 10, kLength = 8, kWidth = 32;
constexpr std::int64_t kStart = kLetters;  // what the decoder begins with

// A word, then what the decoder reads while it writes it backwards: the start
// and all but the last letter of the answer.
data::Batch words(TorchRng& rng, std::int64_t count) {
  data::Batch batch = empty_questions(count, 2 * kLength, kLength);
  std::int64_t* word = batch.ids.data<std::int64_t>();
  std::int64_t* answer = batch.targets.data<std::int64_t>();
  for (std::int64_t b = 0; b < count;
       ++b, word += 2 * kLength, answer += kLength) {
    for (std::int64_t i = 0; i < kLength; ++i) word[i] = rng.randint(kLetters);
    std::reverse_copy(word, word + kLength, answer);
    word[kLength] = kStart;
    std::copy(answer, answer + kLength - 1, word + kLength + 1);
  }
  return batch;
}

struct Reverser : nn::Module {
  Reverser()
      : letters(kLetters + 1, kWidth),
        places(kLength, kWidth),
        encoder(kWidth, 2, 2 * kWidth),
        decoder(kWidth, 2, 2 * kWidth),
        norm(kWidth),
        cross(kWidth, 1),
        last_norm(kWidth),
        head(kWidth, kLetters) {
    add_module("letters", letters);
    add_module("places", places);
    add_module("encoder", encoder);
    add_module("decoder", decoder);
    add_module("norm", norm);
    add_module("cross", cross);
    add_module("last_norm", last_norm);
    add_module("head", head);
  }
  Tensor embed(const Tensor& ids) const {
    return add(letters.forward(ids), places.weight);
  }
  struct Result {
    Tensor logits;   // (B,T,V)
    Tensor weights;  // (B,1,T,S), where wanted
  };
  // ids (B,2T): words and what was written of the answers.
  Result forward(const Tensor& ids, const WantWeights& wanted = {}) const {
    const Tensor memory =
        encoder.forward(embed(slice(ids, 1, 0, kLength))).output;
    const Tensor written =
        decoder
            .forward(embed(slice(ids, 1, kLength, 2 * kLength)),
                     {.mask = Mask::causal()})
            .output;
    AttentionResult found =
        cross.forward(norm.forward(written), memory, {.want_weights = wanted});
    return {head.forward(last_norm.forward(add(written, found.output))),
            found.weights};
  }

  nn::Embedding letters, places;
  nn::TinyGPTBlock encoder, decoder;
  nn::LayerNorm norm;
  nn::CrossAttention cross;
  nn::LayerNorm last_norm;
  nn::Linear head;
};

// Writes letter by letter what is likeliest, each after its own: the whole ids.
Tensor write(const Reverser& network, const Tensor& given) {
  const NoGrad no_grad;
  Tensor ids = given.clone();
  const std::int64_t count = ids.dim(0);
  std::int64_t* id = ids.data<std::int64_t>();
  for (std::int64_t t = 0; t + 1 < kLength; ++t) {
    const auto logits = network.forward(ids).logits.to_vector<float>();
    for (std::int64_t b = 0; b < count; ++b) {
      const float* row = logits.data() + (b * kLength + t) * kLetters;
      id[b * 2 * kLength + kLength + t + 1] =
          std::max_element(row, row + kLetters) - row;
    }
  }
  return ids;
}

std::vector<plot::Token> tokens_of(const std::int64_t* ids,
                                   std::int64_t count) {
  std::vector<plot::Token> tokens;
  for (std::int64_t i = 0; i < count; ++i)
    tokens.push_back({std::string(1, static_cast<char>('a' + ids[i]))});
  return tokens;
}

// What the network does with words that it has not seen.
struct Findings {
  double letters = 0, words = 0;  // the part that is right
  double aligned = 0;             // weight on the letter that is to be written
  std::vector<float> weights;     // (T,S), of the first word
  std::vector<plot::Token> word, written;
};

Findings look(const Reverser& network) {
  constexpr std::int64_t kWords = 1000;
  TorchRng rng(7);
  const data::Batch asked = words(rng, kWords);
  // What stands where the decoder reads is not given away.
  Tensor ids = asked.ids.clone();
  for (std::int64_t b = 0; b < kWords; ++b)
    std::fill_n(ids.data<std::int64_t>() + b * 2 * kLength + kLength + 1,
                kLength - 1, kStart);
  ids = write(network, ids);
  const NoGrad no_grad;
  const auto result = network.forward(ids, WantWeights::all());
  const auto logits = result.logits.to_vector<float>();
  const auto weights = result.weights.to_vector<float>();
  const auto targets = asked.targets.to_vector<std::int64_t>();
  Findings found;
  for (std::int64_t b = 0; b < kWords; ++b) {
    std::int64_t right = 0;
    for (std::int64_t t = 0; t < kLength; ++t) {
      const std::int64_t at = b * kLength + t;
      const float* row = logits.data() + at * kLetters;
      const std::int64_t best = std::max_element(row, row + kLetters) - row;
      right += best == targets[static_cast<std::size_t>(at)] ? 1 : 0;
      found.aligned +=
          weights[static_cast<std::size_t>(at * kLength + kLength - 1 - t)] /
          static_cast<double>(kWords * kLength);
      if (b == 0) found.written.push_back(tokens_of(&best, 1)[0]);
    }
    found.letters += static_cast<double>(right) / (kWords * kLength);
    found.words += right == kLength ? 1.0 / kWords : 0;
  }
  found.word = tokens_of(ids.data<std::int64_t>(), kLength);
  found.weights.assign(weights.begin(), weights.begin() + kLength * kLength);
  return found;
}

std::string text_of(const std::vector<plot::Token>& tokens) {
  std::string text;
  for (const auto& token : tokens) text += token.bytes;
  return text;
}

Report run(const Lab& lab) {
  nn::manual_seed(1);
  const Reverser network;
  Table table;
  table.columns = {"",
                   "letters right, %",
                   "words right, %",
                   "weight on the mirrored letter",
                   "a word",
                   "written"};
  const auto add_row = [&](const char* when, const Findings& found) {
    table.rows.push_back({when, fmt::format("{:.1f}", 100 * found.letters),
                          fmt::format("{:.1f}", 100 * found.words),
                          fmt::format("{:.3f}", found.aligned),
                          text_of(found.word), text_of(found.written)});
  };
  const auto draw = [](const char* title, const Findings& found) {
    return plot::attention_head({.title = title,
                                 .queries = kLength,
                                 .keys = kLength,
                                 .values = found.weights,
                                 .query_tokens = found.written,
                                 .key_tokens = found.word},
                                0, 0);
  };
  const Findings before = look(network);
  add_row("before training", before);
  lab.doing("cross: training");
  const Fit fitted = fit(lab,
                         learner(network,
                                 [&](const data::Batch& batch) {
                                   return network.forward(batch.ids).logits;
                                 }),
                         words, {.steps = 1000});
  const Findings after = look(network);
  add_row("after", after);
  plot::Curves curves;
  curves.title = "a word backwards";
  curves.y_name = "training loss, nats a letter";
  curves.series = {{"encoder and decoder", fitted.curve}};
  Report report;
  report.tables = {table};
  report.pictures = {
      {"loss", plot::draw_curves(curves)},
      {"alignment", plot::side_by_side({draw("before training", before),
                                        draw("after", after)})}};
  report.see =
      "Untrained, the decoder looks everywhere. Trained, every letter that it "
      "writes looks at one letter of the word, from the last to the first: the "
      "alignment is the anti-diagonal, though nobody told it which letter "
      "belongs to which. The words are new to it, and each letter is written "
      "after its own ones before.";
  return report;
}

const RegisterExperiment kCross({"cross",
                                 "Where does a decoder look that writes a word "
                                 "backwards?",
                                 run});

}  // namespace
}  // namespace qkv::cli::lab
