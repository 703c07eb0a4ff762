// Why scores are divided by √d: without it a softmax over wide heads is sure
// from the start, and a sure softmax passes no gradient on.
#include <fmt/core.h>

#include <cmath>

#include "cli/lab/experiment.h"
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
  const auto s = scores.to_vector<float>();
  const auto w = softmax(scores).to_vector<float>();
  Softmax found;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    sum += s[i];
    squares += static_cast<double>(s[i]) * s[i];
    if (w[i] > 0) found.entropy -= w[i] * std::log(w[i]);
    found.gradient += static_cast<double>(w[i]) * (1 - w[i]);
  }
  const auto n = static_cast<double>(s.size());
  found.spread = std::sqrt(squares / n - sum / n * (sum / n));
  found.entropy /= static_cast<double>(kQueries);
  found.gradient /= static_cast<double>(kQueries);
  return found;
}

Report run(const Lab&) {
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
  Report report;
  report.tables = {table};
  report.pictures = {{"", plot::draw_curves(curves)}};
  report.see =
      "Without the division the scores' spread grows as √d and the softmax "
      "puts all weight on one of 64 keys: its entropy and what a score can "
      "still change go to 0. Divided, a head of any width begins open.";
  return report;
}

const RegisterExperiment kScaling({"scaling", "Why are scores divided by √d?",
                                   run});

}  // namespace
}  // namespace qkv::cli::lab
