// The lecture on backpropagation: every gradient of a small network by hand,
// against the tape's.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/lab/experiment.h"
#include "cli/lab/manual_backprop.h"
#include "qkv/plot_course.h"

namespace qkv::cli::lab {
namespace {

constexpr std::array<std::string_view, 48> kNames = {
    "anna",   "ben",    "clara",  "david",  "elena",   "felix", "greta",
    "hugo",   "ida",    "jonas",  "karla",  "leon",    "maria", "nils",
    "nora",   "oscar",  "paula",  "quinn",  "rosa",    "simon", "tessa",
    "ulrich", "vera",   "walter", "xenia",  "yannick", "zoe",   "amir",
    "bianca", "carlos", "daria",  "emil",   "fatima",  "georg", "hannah",
    "ivan",   "julia",  "kamal",  "lucia",  "miguel",  "nadia", "otto",
    "petra",  "rafael", "sofia",  "thomas", "valerie", "wanda"};
constexpr std::int64_t kVocab = 27, kBatch = 32;

std::string letter(std::int64_t id) {
  return id == 0 ? "." : std::string(1, static_cast<char>('a' + id - 1));
}

struct Examples {
  Tensor ids, targets;  // (kBatch, MlpWeights::kContext), (kBatch)
};

// Drawn from all places in all names, each after the three letters before it.
Examples draw_examples(TorchRng& rng) {
  std::vector<std::array<std::int64_t, MlpWeights::kContext + 1>> all;
  for (const std::string_view name : kNames) {
    std::array<std::int64_t, MlpWeights::kContext + 1> window{};
    for (std::size_t i = 0; i <= name.size(); ++i) {
      std::copy(window.begin() + 1, window.end(), window.begin());
      window.back() = i < name.size() ? name[i] - 'a' + 1 : 0;
      all.push_back(window);
    }
  }
  Examples examples{Tensor::empty({kBatch, MlpWeights::kContext}, DType::i64),
                    Tensor::empty({kBatch}, DType::i64)};
  for (std::int64_t i = 0; i < kBatch; ++i) {
    const auto& window =
        all[rng.randint(static_cast<std::int64_t>(all.size()))];
    std::copy_n(window.begin(), MlpWeights::kContext,
                examples.ids.data<std::int64_t>() + i * MlpWeights::kContext);
    examples.targets.data<std::int64_t>()[i] = window.back();
  }
  return examples;
}

Table table_of(const char* title, const std::vector<CheckedGradient>& f32,
               const std::vector<CheckedGradient>& f64) {
  Table table;
  table.title = title;
  table.columns = {"gradient of", "shape",
                   "its largest", "f32 exact",
                   "approximate", "largest difference",
                   "f64 exact",   "largest difference, f64"};
  const auto yes = [](bool is) { return is ? "yes" : "no"; };
  const auto number = [](double x) { return fmt::format("{:.1e}", x); };
  for (std::size_t i = 0; i < f32.size(); ++i)
    table.rows.push_back({f32[i].name, f32[i].gradient.shape().str(),
                          number(f32[i].size), yes(f32[i].exact),
                          yes(f32[i].close), number(f32[i].largest),
                          yes(f64[i].exact), number(f64[i].largest)});
  return table;
}

// One square a letter and example: what is to become likelier is hollow, since
// a step goes against the gradient.
plot::Picture dlogits_picture(const Examples& examples, const Tensor& dlogits) {
  constexpr std::int64_t kShown = 16;
  plot::SignedSquares squares;
  squares.title = "d loss / d logits: each row adds up to 0";
  squares.row_name = "context and the letter that came";
  squares.column_name = "the letter that the logit is for";
  const auto* id = examples.ids.data<std::int64_t>();
  for (std::int64_t i = 0; i < kShown; ++i) {
    std::string label;
    for (std::int64_t t = 0; t < MlpWeights::kContext; ++t)
      label += letter(id[i * MlpWeights::kContext + t]);
    squares.row_labels.push_back(
        label + " " + letter(examples.targets.data<std::int64_t>()[i]));
  }
  for (std::int64_t c = 0; c < kVocab; ++c)
    squares.column_labels.push_back(letter(c));
  squares.values = dlogits.to_vector<double>();
  squares.values.resize(kShown * kVocab);
  return plot::draw_signed_squares(squares);
}

Report run(const Lab&) {
  TorchRng rng(2147483647);
  const MlpWeights weights = draw_mlp_weights(rng, kVocab);
  const Examples examples = draw_examples(rng);
  const auto in = [&](DType dtype) {
    return manual_backprop(weights, examples.ids, examples.targets, dtype);
  };
  const ManualBackprop f32 = in(DType::f32), f64 = in(DType::f64);
  Report report;
  report.tables = {
      table_of("step by step, from the loss to the table of embeddings",
               f32.named, f64.named),
      table_of("the same at once: (softmax - onehot)/n, and BatchNorm's "
               "backward",
               f32.at_once, f64.at_once)};
  report.pictures = {{"dlogits", dlogits_picture(examples, f64.dlogits)}};
  report.see =
      "Every gradient can be written down: what a result passes back is its "
      "own gradient times how much its input moves it, and what feeds two "
      "results gets both shares. The tape does nothing else; where the two "
      "differ it is by rounding. Softmax with cross-entropy, and BatchNorm, "
      "shrink to one line each.";
  return report;
}

const RegisterExperiment kBackprop(
    {"backprop", "Is backpropagation what one would write by hand?", run});

}  // namespace
}  // namespace qkv::cli::lab
