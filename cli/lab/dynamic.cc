// A value looked up by its key, wherever it stands: weights that are fixed to
// places against weights that follow from the content.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/lab/small_training.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kKeys = 8, kValues = 8, kPairs = 6;
constexpr std::int64_t kLength = 2 * kPairs + 1;

// Keys, each with its value, in any order, and one of them again: its value is
// the answer. c3 a1 f3 … a -> 1.
data::Batch lookups(TorchRng& rng, std::int64_t count) {
  data::Batch batch = empty_questions(count, kLength, 1);
  for (std::int64_t b = 0; b < count; ++b) {
    std::int64_t* row = batch.ids.data<std::int64_t>() + b * kLength;
    const auto keys = rng.randperm(kKeys);
    for (std::int64_t p = 0; p < kPairs; ++p) {
      row[2 * p] = keys[static_cast<std::size_t>(p)];
      row[2 * p + 1] = kKeys + rng.randint(kValues);
    }
    const std::int64_t asked = 2 * rng.randint(kPairs);
    row[kLength - 1] = row[asked];
    batch.targets.data<std::int64_t>()[b] = row[asked + 1];
  }
  return batch;
}

// What knowing the values gives without looking which key has which.
Score of_the_values_alone() {
  constexpr std::int64_t kQuestions = 4096;
  TorchRng rng(2);
  const auto ids = lookups(rng, kQuestions).ids.to_vector<std::int64_t>();
  Score score;
  for (std::int64_t b = 0; b < kQuestions; ++b) {
    std::array<int, kValues> times{};
    for (std::int64_t p = 0; p < kPairs; ++p)
      ++times[static_cast<std::size_t>(
          ids[static_cast<std::size_t>(b * kLength + 2 * p + 1)] - kKeys)];
    for (const int n : times) {
      const double share = static_cast<double>(n) / kPairs;
      if (n > 0) score.loss -= share * std::log(share) / kQuestions;
    }
    score.accuracy += *std::max_element(times.begin(), times.end()) /
                      static_cast<double>(kPairs * kQuestions);
  }
  return score;
}

constexpr SmallModel kModels[] = {
    {"MLP", "mlp", R"({"n_embd": 16, "n_hidden": 96})"},
    {"WaveNet", "wavenet",
     R"({"n_level": 4, "n_embd": 16, "n_hidden": 56, "batch_norm": false,
         "form": "dilated"})"},
    {"attention", "heads",
     R"({"n_embd": 48, "n_head": 2, "n_layer": 2, "residual": true,
         "norm": true})"},
};

std::vector<std::string> row_of(const char* name, const std::string& parameters,
                                const Score& score) {
  return {name, parameters, fmt::format("{:.3f}", score.loss),
          fmt::format("{:.1f} %", 100 * score.accuracy)};
}

Report run(const Lab& lab) {
  Table table;
  table.columns = {"", "parameters", "loss", "right"};
  table.rows.push_back(row_of("chance", "-",
                              {std::log(static_cast<double>(kValues)),
                               1.0 / static_cast<double>(kValues)}));
  const Score values = of_the_values_alone();
  table.rows.push_back(row_of("the values, not the keys", "-", values));
  plot::Curves curves;
  curves.title = "a value looked up by its key, at any place";
  curves.y_name = "training loss, nats an answer";
  curves.levels = {{std::log(static_cast<double>(kValues)), "ln 8: chance"},
                   {values.loss, "the values, not the keys"}};
  for (const SmallModel& m : kModels) {
    lab.doing(fmt::format("dynamic: {}", m.name));
    const auto model = make(m, kKeys + kValues, kLength);
    const Fit fitted = fit(lab, learner(*model), lookups, {.steps = 600});
    table.rows.push_back(
        row_of(m.name, std::to_string(model->parameter_count()), fitted.score));
    curves.series.push_back({m.name, fitted.curve});
  }
  Report report;
  report.tables = {table};
  report.pictures = {{"", plot::draw_curves(curves)}};
  report.see =
      "All three see the whole question. An MLP and a convolution multiply "
      "each "
      "place by weights that training fixed, so they learn which values occur "
      "and little about whose they are. Attention computes its weights from "
      "what stands there: two layers find the key that is asked for and fetch "
      "what follows it, wherever that is.";
  return report;
}

const RegisterExperiment kDynamic({"dynamic",
                                   "What can weights that follow from the "
                                   "content do that fixed ones cannot?",
                                   run});

}  // namespace
}  // namespace qkv::cli::lab
