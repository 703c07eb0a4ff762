// Why scores are divided by √d: without it a softmax over wide heads is sure
// from the start, and a sure softmax passes no gradient on.
#include <fmt/core.h>

#include <cmath>

#include "cli/lab/numbers.h"
#include "cli/lab/small_training.h"
#include "qkv/nn/attention.h"
#include "qkv/ops.h"
#include "qkv/rng.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kQueries = 256, kKeys = 64;

struct Softmax {
  double spread = 0;    // standard deviation of the scores
  double entropy = 0;   // of a row of weights, nats
  double gradient = 0;  // Σ w (1 - w) of a row: how much scores still move it
};

// Of random queries and keys of width d, N(0,1) each.
Softmax of_scores(const Tensor& q, const Tensor& k, double factor) {
  const Tensor scores = scale(matmul(q, transpose(k, 0, 1)), factor);
  const auto w = softmax(scores).to_vector<float>();
  Softmax found;
  for (const float weight : w) {
    if (weight > 0) found.entropy -= weight * std::log(weight);
    found.gradient += static_cast<double>(weight) * (1 - weight);
  }
  found.spread = spread_of(scores.to_vector<float>()).deviation;
  found.entropy /= static_cast<double>(kQueries);
  found.gradient /= static_cast<double>(kQueries);
  return found;
}

// Symbols at places, then the number of a place: which symbol stands there?
constexpr std::int64_t kSymbols = 8, kPlaces = 16, kWidth = 256;

data::Batch pointers(TorchRng& rng, std::int64_t count) {
  constexpr std::int64_t kLength = kPlaces + 1;
  data::Batch batch = empty_questions(count, kLength, 1);
  std::int64_t* row = batch.ids.data<std::int64_t>();
  for (std::int64_t b = 0; b < count; ++b, row += kLength) {
    for (std::int64_t i = 0; i < kPlaces; ++i) row[i] = rng.randint(kSymbols);
    const std::int64_t place = rng.randint(kPlaces);
    row[kPlaces] = kSymbols + place;
    batch.targets.data<std::int64_t>()[b] = row[place];
  }
  return batch;
}

// One head as wide as the model.
struct Pointing : nn::Module {
  Pointing()
      : symbols(kSymbols + kPlaces, kWidth),
        places(kPlaces + 1, kWidth),
        attention(kWidth),
        answer(kWidth, kSymbols) {
    add_module("symbols", symbols);
    add_module("places", places);
    add_module("attention", attention);
    add_module("answer", answer);
  }
  Tensor logits(const Tensor& ids, double factor) const {
    const Tensor x = add(symbols.forward(ids), places.weight);
    const Tensor seen = attention.forward(x, {.scale = factor}).output;
    return answer.forward(slice(seen, 1, kPlaces, kPlaces + 1));
  }

  nn::Embedding symbols, places;
  nn::SelfAttention attention;
  nn::Linear answer;
};

Fit train_with(const Lab& lab, double factor) {
  nn::manual_seed(1);
  const Pointing network;
  return fit(lab,
             learner(network,
                     [&](const data::Batch& batch) {
                       return network.logits(batch.ids, factor);
                     }),
             pointers, {.steps = 300, .lr = 1e-3});
}

Report run(const Lab& lab) {
  Table table;
  table.columns = {"d",           "spread",       "entropy",      "gradient",
                   "spread, ÷√d", "entropy, ÷√d", "gradient, ÷√d"};
  plot::Curves curves;
  curves.title = "entropy of attention against the width of a head";
  curves.x_name = "d";
  curves.y_name = "entropy of the weights, nats";
  curves.log_x = true;
  curves.levels = {{std::log(static_cast<double>(kKeys)),
                    fmt::format("ln {}: all keys alike", kKeys)}};
  curves.series = {{"as they are", {}}, {"divided by √d", {}}};
  TorchRng rng(1);
  for (std::int64_t d = 4; d <= 1024; d *= 4) {
    Tensor q = Tensor::empty({kQueries, d}), k = Tensor::empty({kKeys, d});
    rng.randn(q);
    rng.randn(k);
    const Softmax raw = of_scores(q, k, 1);
    const Softmax scaled =
        of_scores(q, k, 1 / std::sqrt(static_cast<double>(d)));
    const auto text = [](double x) { return fmt::format("{:.2f}", x); };
    table.rows.push_back({std::to_string(d), text(raw.spread),
                          text(raw.entropy), text(raw.gradient),
                          text(scaled.spread), text(scaled.entropy),
                          text(scaled.gradient)});
    curves.series[0].points.push_back({static_cast<double>(d), raw.entropy});
    curves.series[1].points.push_back({static_cast<double>(d), scaled.entropy});
  }
  Table trained{
      .title = fmt::format("Two trainings of a head of width {}", kWidth),
      .columns = {"scores", "loss", "right, %"},
      .rows = {}};
  plot::Curves losses;
  losses.title = "the same head trained with and without the division";
  losses.y_name = "training loss, nats an answer";
  losses.levels = {{std::log(static_cast<double>(kSymbols)),
                    fmt::format("ln {}: chance", kSymbols)}};
  for (const bool divided : {false, true}) {
    const char* name = divided ? "divided by √d" : "as they are";
    lab.doing(fmt::format("scaling: training, scores {}", name));
    const Fit fitted = train_with(
        lab, divided ? 1 / std::sqrt(static_cast<double>(kWidth)) : 1);
    trained.rows.push_back(
        {name, fmt::format("{:.3f}", fitted.score.loss),
         fmt::format("{:.1f}", 100 * fitted.score.accuracy)});
    losses.series.push_back({name, fitted.curve});
  }
  Report report;
  report.tables = {table, trained};
  report.pictures = {{"", plot::draw_curves(curves)},
                     {"training", plot::draw_curves(losses)}};
  report.see =
      "Without the division the scores' spread grows as √d and the softmax "
      "puts all weight on one of 64 keys: its entropy and what a score can "
      "still change go to 0. Divided, a head of any width begins open. The "
      "trained head shall find a symbol by the number of its place: divided it "
      "soon does, undivided it stays near chance.";
  return report;
}

const RegisterExperiment kScaling({"scaling", "Why are scores divided by √d?",
                                   run});

}  // namespace
}  // namespace qkv::cli::lab
