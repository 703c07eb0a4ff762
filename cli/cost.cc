#include "cli/cost.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "cli/command.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/json.h"
#include "qkv/autograd.h"
#include "qkv/ops.h"

namespace qkv::cli {
namespace {

// Operations a second of the products that dominate this model's step: rows of
// a batch times a (width, 4·width) matrix, for a fifth of a second.
double measured_flops(std::int64_t rows, std::int64_t width) {
  NoGrad no_grad;
  rows = std::clamp<std::int64_t>(rows, 1, 4096);
  const Tensor x = Tensor::full({rows, width}, 0.5);
  const Tensor w = Tensor::full({4 * width, width}, 0.5);
  linear(x, w);
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  double best = 0, elapsed = 0;
  while (elapsed < 0.2) {
    const auto start = Clock::now();
    linear(x, w);
    const auto end = Clock::now();
    const double seconds = std::chrono::duration<double>(end - start).count();
    best = std::max(best,
                    8.0 * static_cast<double>(rows * width * width) / seconds);
    elapsed = std::chrono::duration<double>(end - begin).count();
  }
  return best;
}

}  // namespace

int print_cost(RunConfig& config, bool json) {
  const auto fields =
      fields_to_json([&](FieldVisitor& v) { config.model->visit(v); });
  RunParts parts;
  // Without data named, a preset with its own vocabulary stands for itself.
  const bool own = config.data.lines.empty() && config.data.text.empty() &&
                   config.data.task.empty() &&
                   fields.value("vocab_size", std::int64_t{0}) > 0;
  if (own) {
    nn::SkipInit skip;
    parts.model = config.model->make();
  } else {
    parts = open_run(config, true);
  }
  for (const std::string& text : config.notes) note(text);
  const LanguageModel& model = *parts.model;
  const std::int64_t length =
      own ? model.block_size() : parts.dataset->block_size();
  const std::int64_t batch = config.train.batch_size;
  const double flops = model.step_flops(batch, length) *
                       static_cast<double>(config.train.grad_accumulation);
  const auto parameters = static_cast<double>(model.parameter_count());
  const double states = config.train.optimizer == OptimizerKind::adamw ? 2
                        : config.train.momentum > 0                    ? 1
                                                                       : 0;
  const double fixed = 4 * parameters * (2 + states);
  const double memory = fixed + model.activation_bytes(batch, length);
  const std::int64_t width = fields.value("n_embd", std::int64_t{64});
  const double speed = measured_flops(batch * length, width);
  // Whole steps of the models here reach about half to nine tenths of what
  // their products reach alone.
  const double seconds = flops / (0.7 * speed);
  if (json) {
    const nlohmann::ordered_json out = {
        {"parameters", model.parameter_count()},
        {"tokens_per_step", batch * length * config.train.grad_accumulation},
        {"flops_per_step", flops},
        {"memory_bytes", memory},
        {"seconds_per_step", seconds},
        {"steps", config.train.steps}};
    fmt::print("{}\n", json_line(out));
    return kDone;
  }
  const auto line = [](const std::string& name, const std::string& value) {
    fmt::print("{:<18} {}\n", name, value);
  };
  if (!own) line("data", parts.dataset->describe());
  line("parameters", with_commas(model.parameter_count()));
  line(
      "FLOPs a token",
      short_count(flops / static_cast<double>(batch * length *
                                              config.train.grad_accumulation)));
  line("FLOPs a step", short_count(flops));
  line("memory",
       fmt::format("{}: {} weights, gradients and moments, {} activations",
                   bytes_text(memory), bytes_text(fixed),
                   bytes_text(memory - fixed)));
  line("time a step",
       fmt::format("about {:.3g} ms at {:.0f} GFLOP/s of matrix products",
                   seconds * 1e3, speed / 1e9));
  line("time",
       fmt::format(
           "about {} for {} steps, evaluations not counted",
           duration_text(seconds * static_cast<double>(config.train.steps)),
           with_commas(config.train.steps)));
  return kDone;
}

}  // namespace qkv::cli
