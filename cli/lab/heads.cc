// One wide head against many narrow ones of as many parameters, where a token
// stands in several relations at once.
#include <fmt/core.h>

#include <array>
#include <cmath>

#include "cli/lab/small_training.h"
#include "qkv/autograd.h"
#include "qkv/nn/attention.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kSymbols = 16, kLength = 16, kWidth = 64;
// Every token shall tell who stands so many places before it.
constexpr std::array<std::int64_t, 4> kBack = {1, 2, 4, 8};
constexpr std::int64_t kRelations = std::ssize(kBack);

data::Batch who_stood_before(TorchRng& rng, std::int64_t count) {
  data::Batch batch = empty_questions(count, kLength, kLength * kRelations);
  std::int64_t* ids = batch.ids.data<std::int64_t>();
  std::int64_t* target = batch.targets.data<std::int64_t>();
  for (std::int64_t b = 0; b < count; ++b, ids += kLength) {
    for (std::int64_t t = 0; t < kLength; ++t) ids[t] = rng.randint(kSymbols);
    for (std::int64_t t = 0; t < kLength; ++t)
      for (const std::int64_t back : kBack)
        *target++ = t >= back ? ids[t - back] : kIgnore;
  }
  return batch;
}

struct Network : nn::Module {
  explicit Network(std::int64_t heads)
      : symbols(kSymbols, kWidth),
        places(kLength, kWidth),
        attention(kWidth, heads),
        answers(kWidth, kRelations * kSymbols) {
    add_module("symbols", symbols);
    add_module("places", places);
    add_module("attention", attention);
    add_module("answers", answers);
  }
  AttentionResult attend(const Tensor& ids, const WantWeights& wanted) const {
    return attention.forward(add(symbols.forward(ids), places.weight),
                             {.mask = Mask::causal(), .want_weights = wanted});
  }
  Tensor logits(const Tensor& ids) const {
    return reshape(answers.forward(attend(ids, {}).output),
                   {ids.dim(0), kLength * kRelations, kSymbols});
  }

  nn::Embedding symbols, places;
  nn::MultiHeadSelfAttention attention;
  nn::Linear answers;
};

// The heads' weights, the mean of some sequences.
plot::Picture weights_of(const Network& network, std::int64_t heads) {
  constexpr std::int64_t kSequences = 64;
  TorchRng rng(3);
  const NoGrad no_grad;
  const Tensor weights = mean(
      network.attend(who_stood_before(rng, kSequences).ids, WantWeights::all())
          .weights,
      0);
  const plot::Attention drawn{
      .title = fmt::format("four relations through {} head{}", heads,
                           heads == 1 ? "" : "s"),
      .heads = static_cast<int>(heads),
      .queries = kLength,
      .keys = kLength,
      .values = weights.to_vector<float>(),
      .causal = true};
  return heads == 1 ? plot::attention_head(drawn, 0, 0)
                    : plot::attention_grid(drawn);
}

Report run(const Lab& lab) {
  Table table;
  table.columns = {"heads", "width of each", "parameters", "loss", "right, %"};
  plot::Curves curves;
  curves.title = "four relations at once";
  curves.y_name = "training loss, nats an answer";
  curves.levels = {{std::log(static_cast<double>(kSymbols)),
                    fmt::format("ln {}: chance", kSymbols)}};
  Report report;
  for (const std::int64_t heads : {1, 2, 4, 8, 16}) {
    lab.doing(fmt::format("heads: {}", heads));
    nn::manual_seed(1);
    const Network network(heads);
    const Fit fitted = fit(lab,
                           learner(network,
                                   [&](const data::Batch& batch) {
                                     return network.logits(batch.ids);
                                   }),
                           who_stood_before, {.steps = 800});
    table.rows.push_back({std::to_string(heads), std::to_string(kWidth / heads),
                          std::to_string(network.parameter_count()),
                          fmt::format("{:.3f}", fitted.score.loss),
                          fmt::format("{:.1f}", 100 * fitted.score.accuracy)});
    curves.series.push_back(
        {fmt::format("{} head{}", heads, heads == 1 ? "" : "s"), fitted.curve});
    if (heads == 1 || heads == kRelations)
      report.pictures.push_back(
          {std::to_string(heads), weights_of(network, heads)});
  }
  report.tables = {table};
  report.pictures.push_back({"loss", plot::draw_curves(curves)});
  report.see =
      "Every token shall name those 1, 2, 4 and 8 places before it. One head "
      "has one row of weights a token: it spreads over the four and gives "
      "their mean, in which their order is lost. Of four heads each looks one "
      "way and every answer is right, with as many parameters; more than there "
      "are relations gain nothing here.";
  return report;
}

const RegisterExperiment kHeads({"heads",
                                 "What do many narrow heads do that a wide one "
                                 "cannot?",
                                 run});

}  // namespace
}  // namespace qkv::cli::lab
