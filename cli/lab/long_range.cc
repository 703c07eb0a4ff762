// A token recalled at growing distance, and how much of the loss's gradient
// reaches back to it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/lab/small_training.h"
#include "qkv/autograd.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kSymbols = 8;
constexpr std::int64_t kDistances[] = {2, 4, 8, 16, 32, 64};
constexpr std::int64_t kFarthest = 64;
constexpr double kNothing = -26;  // where a chart of logarithms draws 0

constexpr SmallModel kModels[] = {
    {"MLP of 8", "mlp", R"({"context": 8, "n_embd": 16, "n_hidden": 64})"},
    {"WaveNet of 16", "wavenet",
     R"({"n_level": 4, "n_embd": 16, "n_hidden": 48, "batch_norm": false,
         "form": "dilated"})"},
    {"RNN", "rnn", R"({"n_embd": 32, "n_hidden": 64})"},
    {"GRU", "gru", R"({"n_embd": 32, "n_hidden": 48})"},
    {"LSTM", "lstm", R"({"n_embd": 32, "n_hidden": 48})"},
    {"attention", "heads", R"({"n_embd": 32, "residual": true})"},
};

// Random symbols; the answer at the end is the one `distance` before it.
Questions symbols_at(std::int64_t distance) {
  return [distance](TorchRng& rng, std::int64_t count) {
    const std::int64_t length = distance + 1;
    data::Batch batch = empty_questions(count, length, 1);
    std::int64_t* ids = batch.ids.data<std::int64_t>();
    for (std::int64_t i = 0; i < count * length; ++i)
      ids[i] = rng.randint(kSymbols);
    for (std::int64_t b = 0; b < count; ++b)
      batch.targets.data<std::int64_t>()[b] = ids[b * length];
    return batch;
  };
}

double norm_of_row(const Tensor& table, std::int64_t row) {
  const std::int64_t width = table.dim(1);
  const float* x = table.data<float>() + row * width;
  double squares = 0;
  for (std::int64_t c = 0; c < width; ++c)
    squares += static_cast<double>(x[c]) * x[c];
  return std::sqrt(squares);
}

// Of an untrained model: the norm of the gradient that the loss at the end
// sends to the embedding of the token `distance` before it, over that of the
// last token's neighbour; by distance. No token occurs twice in a sequence, so
// the gradient of its row of the table is that of its place.
std::vector<double> reach_of(const SmallModel& m) {
  constexpr std::int64_t kLength = kFarthest + 1, kSequences = 32;
  const OneThread one_thread;
  const auto model = make(m, kLength, kLength);
  const auto parameters = model->parameters();
  // The MLP's table has a row more, for what is before the beginning.
  const Tensor embeddings =
      std::find_if(parameters.begin(), parameters.end(), [](const auto& p) {
        return p.name == "wte.weight";
      })->tensor;
  std::vector<double> reach(kLength, 0);
  TorchRng rng(1);
  for (std::int64_t i = 0; i < kSequences; ++i) {
    const auto ids = rng.randperm(kLength);
    Context context{.training = true};
    model->zero_grad();
    backward(model
                 ->loss(Tensor::from<std::int64_t>({1, kLength}, ids),
                        Tensor::from<std::int64_t>({1, 1}, {ids[0]}), context)
                 .mean);
    for (std::int64_t d = 0; d < kLength; ++d)
      reach[static_cast<std::size_t>(d)] += norm_of_row(
          embeddings.grad(), ids[static_cast<std::size_t>(kFarthest - d)]);
  }
  const double near = reach[1];
  for (double& norm : reach) norm /= near;
  return reach;
}

Table table_of(const std::string& title) {
  Table table{.title = title, .columns = {"distance"}, .rows = {}};
  for (const SmallModel& m : kModels) table.columns.emplace_back(m.name);
  for (const std::int64_t distance : kDistances)
    table.rows.push_back({std::to_string(distance)});
  return table;
}

Report run(const Lab& lab) {
  const Training training{.steps = 300};
  const double chance = std::log(static_cast<double>(kSymbols));
  Table loss =
      table_of(fmt::format("Loss after {} steps; ln {} = {:.3f} is chance",
                           lab.steps(training.steps), kSymbols, chance));
  Table right = table_of("Answers that are right, %");
  Table gradient = table_of(
      "Gradient that reaches back before training, over that at distance 1");
  plot::Curves losses, gradients;
  losses.title = "recall at a distance";
  losses.x_name = gradients.x_name = "distance, tokens";
  losses.y_name = "loss after training, nats";
  losses.log_x = true;
  losses.levels = {{chance, fmt::format("ln {}: chance", kSymbols)}};
  gradients.title = "how far back the gradient reaches";
  gradients.y_name = "log10 of the gradient over that at distance 1";
  gradients.levels = {{kNothing, "nothing at all"}};
  gradients.show_last = false;
  for (const SmallModel& m : kModels) {
    plot::Series lost{m.name, {}}, reached{m.name, {}};
    const auto reach = reach_of(m);
    for (std::int64_t d = 1; d <= kFarthest; ++d) {
      const double r = reach[static_cast<std::size_t>(d)];
      reached.points.push_back(
          {static_cast<double>(d), r > 0 ? std::log10(r) : kNothing});
      if (r == 0) break;
    }
    lab.doing(fmt::format("long-range: {}", m.name));
    for (std::size_t i = 0; i < std::size(kDistances); ++i) {
      const std::int64_t d = kDistances[i];
      const auto model = make(m, kSymbols, d + 1);
      const Score score =
          fit(lab, learner(*model), symbols_at(d), training).score;
      lost.points.push_back({static_cast<double>(d), score.loss});
      loss.rows[i].push_back(fmt::format("{:.3f}", score.loss));
      right.rows[i].push_back(fmt::format("{:.1f}", 100 * score.accuracy));
      gradient.rows[i].push_back(
          fmt::format("{:.1e}", reach[static_cast<std::size_t>(d)]));
    }
    losses.series.push_back(std::move(lost));
    gradients.series.push_back(std::move(reached));
  }
  Report report;
  report.tables = {loss, right, gradient};
  report.pictures = {{"loss", plot::draw_curves(losses)},
                     {"gradient", plot::draw_curves(gradients)}};
  report.see =
      "An MLP and a convolution recall what is within their reach and nothing "
      "beyond: no gradient comes from there. Through a recurrent network the "
      "gradient shrinks by a factor at every token, gates or not, until the "
      "distant token is not learned in these steps. Attention is one step away "
      "from every token: the gradient does not know the distance.";
  return report;
}

const RegisterExperiment kLongRange({"long-range",
                                     "How far back does each model learn?",
                                     run});

}  // namespace
}  // namespace qkv::cli::lab
