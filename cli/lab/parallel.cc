// The time a token takes in training as the sequence grows: an RNN, whose steps
// wait for each other, and attention, whose do not.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "cli/lab/small_training.h"
#include "qkv/autograd.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kVocabulary = 64, kBatch = 4;

constexpr std::array<SmallModel, 2> kModels = {{
    {"RNN", "rnn", R"({"n_embd": 128, "n_hidden": 128})"},
    {"attention", "heads", R"({"n_embd": 128, "n_head": 2, "residual": true})"},
}};

struct Measured {
  double nanoseconds =
      0;             // a token, forward and backward: the least of several
  double flops = 0;  // a token
};

Measured measure(const Lab& lab, const SmallModel& m, std::int64_t length) {
  using Clock = std::chrono::steady_clock;
  const auto model = make(m, kVocabulary, length);
  TorchRng rng(1);
  data::Batch batch = empty_questions(kBatch, length, length);
  for (std::int64_t i = 0; i < kBatch * length; ++i) {
    batch.ids.data<std::int64_t>()[i] = rng.randint(kVocabulary);
    batch.targets.data<std::int64_t>()[i] = rng.randint(kVocabulary);
  }
  double least = std::numeric_limits<double>::infinity(), sum = 0;
  const double enough = lab.quick() ? 0 : 1;
  for (int i = 0; i < 3 || sum < enough; ++i) {
    lab.check();
    model->zero_grad();
    Context context{.training = true};
    const auto begin = Clock::now();
    backward(model->loss(batch.ids, batch.targets, context).mean);
    const double seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
    least = std::min(least, seconds);
    sum += seconds;
  }
  const auto tokens = static_cast<double>(kBatch * length);
  return {1e9 * least / tokens, model->step_flops(kBatch, length) / tokens};
}

Report run(const Lab& lab) {
  Table table;
  table.columns = {"T"};
  for (const SmallModel& m : kModels)
    for (const char* what : {"µs/token", "MFLOP/token", "GFLOP/s"})
      table.columns.push_back(fmt::format("{}: {}", m.name, what));
  plot::Curves curves;
  curves.title = "training time of a token as the sequence grows";
  curves.x_name = "T, tokens";
  curves.y_name = "µs a token, forward and backward";
  curves.log_x = true;
  curves.series = {{"RNN", {}}, {"attention", {}}};
  std::array<double, 2> fastest{};  // GFLOP/s
  bool leads = true;                // attention took less up to now
  std::int64_t ahead = 0;           // the last T where it did
  for (const std::int64_t length : {16, 64, 256, 1024, 4096}) {
    if (lab.quick() && length > 256) break;
    lab.doing(fmt::format("parallel: {} tokens", length));
    std::vector<std::string> row{std::to_string(length)};
    std::array<double, 2> times{};
    for (const std::size_t i : {0, 1}) {
      const Measured m = measure(lab, kModels[i], length);
      times[i] = m.nanoseconds;
      fastest[i] = std::max(fastest[i], m.flops / m.nanoseconds);
      row.push_back(fmt::format("{:.2f}", m.nanoseconds / 1e3));
      row.push_back(fmt::format("{:.2f}", m.flops / 1e6));
      row.push_back(fmt::format("{:.1f}", m.flops / m.nanoseconds));
      curves.series[i].points.push_back(
          {static_cast<double>(length), m.nanoseconds / 1e3});
    }
    leads = leads && times[1] < times[0];
    if (leads) ahead = length;
    table.rows.push_back(row);
  }
  Report report;
  report.tables = {table};
  report.pictures = {{"", plot::draw_curves(curves)}};
  report.see = fmt::format(
      "The RNN does the same arithmetic for a token however long the sequence "
      "is, but a step waits for the one before: {} products in a row, of {} "
      "rows each, and it came to {:.0f} GFLOP/s at most. Attention multiplies "
      "all tokens at once, and came to {:.0f}; what it computes for a token "
      "grows with T. {} These are measured times, the least of several, with "
      "this machine's noise in them.",
      table.rows.back()[0], kBatch, fastest[0], fastest[1],
      ahead == 0 ? std::string("Here it was never ahead.")
                 : fmt::format("Here it was ahead up to T = {}.", ahead));
  return report;
}

const RegisterExperiment kParallel({"parallel",
                                    "What does it cost that an RNN reads one "
                                    "token after the other?",
                                    run});

}  // namespace
}  // namespace qkv::cli::lab
