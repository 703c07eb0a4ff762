// The learning-rate range test of the lecture on MLPs: one training in which
// the rate grows from step to step, and the loss at each (Smith 2017).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/lab/experiment.h"
#include "cli/lab/small_training.h"
#include "cli/lab/words.h"
#include "qkv/autograd.h"
#include "qkv/nn/layers.h"
#include "qkv/ops.h"
#include "qkv/optim.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kContext = 3, kEmbedding = 10, kHidden = 200;
constexpr std::int64_t kBatch = 32;
constexpr double kLow = -3, kHigh = 1;  // log10 of the rates
constexpr int kBins = 20;               // that the losses are averaged in

class Mlp : public nn::Module {
 public:
  explicit Mlp(std::int64_t vocab_size)
      : table_(vocab_size, kEmbedding),
        hidden_(kContext * kEmbedding, kHidden),
        head_(kHidden, vocab_size) {
    add_module("table", table_);
    add_module("hidden", hidden_);
    add_module("head", head_);
  }
  Tensor loss(const data::Batch& batch) const {
    const Tensor seen =
        reshape(table_.forward(batch.ids), {batch.ids.dim(0), -1});
    return cross_entropy(head_.forward(tanh(hidden_.forward(seen))),
                         batch.targets)
        .mean;
  }

 private:
  nn::Embedding table_;
  nn::Linear hidden_, head_;
};

// Trains a new net by plain gradient descent; rate(k) is that of step k, and
// each step's loss goes to see(k, loss). Returns the loss on held-out examples.
template <class Rate, class See>
double train(const Lab& lab, std::int64_t steps, Rate rate, See see) {
  nn::manual_seed(1337);
  Windows windows(kContext, 1337);
  const Mlp mlp(windows.vocab_size());
  const auto sgd =
      optim::sgd(optim::parameters_of(mlp.parameters(), optim::DecayRule::all));
  for (std::int64_t k = 0; k < steps; ++k) {
    lab.check();
    const Tensor loss = mlp.loss(windows.next(kBatch));
    backward(loss);
    sgd->step(rate(k));
    sgd->zero_grad();
    see(k, loss.item());
  }
  const NoGrad no_grad;
  return mlp.loss(windows.held_out(4096)).item();
}

struct RangeTest {
  std::vector<plot::Point> raw, means;  // log10 rate, loss
  double best = 0;                      // log10 of the rate of the lowest mean
};

RangeTest range_test(const Lab& lab) {
  const std::int64_t steps = 2000;  // few enough for --quick, too
  RangeTest test;
  const auto exponent = [&](std::int64_t k) {
    return kLow + (kHigh - kLow) * static_cast<double>(k) /
                      static_cast<double>(steps - 1);
  };
  train(
      lab, steps, [&](auto k) { return std::pow(10, exponent(k)); },
      [&](auto k, double loss) {
        test.raw.push_back({exponent(k), loss});
      });
  const std::size_t each = test.raw.size() / kBins;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    plot::Point mean;
    for (std::size_t i = bin * each; i < (bin + 1) * each; ++i) {
      mean.x += test.raw[i].x / static_cast<double>(each);
      mean.y += test.raw[i].y / static_cast<double>(each);
    }
    test.means.push_back(mean);
  }
  test.best =
      std::min_element(test.means.begin(), test.means.end(),
                       [](const auto& a, const auto& b) { return a.y < b.y; })
          ->x;
  return test;
}

plot::Picture picture(const RangeTest& test) {
  plot::Curves curves;
  curves.title = "learning-rate range test";
  curves.about =
      "qkv lab lr-find: the loss of each step while the rate grows from 0.001 "
      "to 10";
  curves.x_name = "log10 of the learning rate";
  plot::Series raw{"a step", test.raw}, means{"mean", test.means};
  // Where training breaks the loss would leave no room for the rest.
  for (auto* points : {&raw.points, &means.points})
    std::erase_if(*points, [&](const plot::Point& point) {
      return !(point.y < 1.5 * test.raw.front().y);
    });
  const double lowest =
      std::min_element(test.means.begin(), test.means.end(),
                       [](const auto& a, const auto& b) { return a.y < b.y; })
          ->y;
  curves.series = {raw, means};
  curves.levels = {{lowest, fmt::format("lowest: 10^{:.1f} = {:.2g}", test.best,
                                        std::pow(10, test.best))}};
  return plot::draw_curves(curves);
}

Report run(const Lab& lab) {
  const OneThread one_thread;
  lab.doing("lr-find: the rate grows");
  const RangeTest test = range_test(lab);
  Report report;
  Table grown;
  grown.title = "one training, the rate growing from step to step";
  grown.columns = {"log10 of the rate", "loss around it"};
  for (const plot::Point& mean : test.means)
    grown.rows.push_back(
        {fmt::format("{:.1f}", mean.x), fmt::format("{:.3f}", mean.y)});
  Table held;
  const std::int64_t steps = lab.steps(6000);
  held.title = fmt::format("trainings of {} steps at one rate each", steps);
  held.columns = {"learning rate", "log10", "validation loss"};
  for (const double away : {-2.0, -1.0, 0.0, 1.0}) {
    const double rate = std::pow(10, test.best + away);
    lab.doing(fmt::format("lr-find: training at {:.2g}", rate));
    const double loss = train(
        lab, steps, [rate](auto) { return rate; }, [](auto, double) {});
    held.rows.push_back(
        {fmt::format("{:.2g}{}", rate, away == 0 ? " (the lowest's)" : ""),
         fmt::format("{:.1f}", test.best + away), fmt::format("{:.3f}", loss)});
  }
  report.tables = {grown, held};
  report.pictures = {{"", picture(test)}};
  report.see = fmt::format(
      "Too small a rate learns slowly, too large a one undoes what was "
      "learned: between them the loss is lowest near 10^{:.1f} = {:.2g}. Whole "
      "trainings at one rate each agree: at a tenth of it as many steps come "
      "less far, and at ten times it they jump about.",
      test.best, std::pow(10, test.best));
  report.see += note_on_words();
  return report;
}

const RegisterExperiment kLrFind({"lr-find",
                                  "Which learning rate should a training "
                                  "have?",
                                  run});

}  // namespace
}  // namespace qkv::cli::lab
