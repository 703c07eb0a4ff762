// qkv ladder: the whole course on one data set, rung by rung.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/command.h"
#include "cli/draw_sample.h"
#include "cli/ladder_rungs.h"
#include "cli/loss_plot.h"
#include "cli/parity.h"
#include "cli/picture_file.h"
#include "cli/progress.h"
#include "cli/run_folder.h"
#include "cli/run_log.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/train_setup.h"
#include "core/check.h"
#include "core/fields_json.h"
#include "core/json.h"
#include "qkv/io.h"

namespace qkv::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string lines, text, task, out = "runs/ladder", seconds, data_folder;
  std::vector<std::string> only;
  std::int64_t steps = 0, seed = -1;
  int threads = 0;
  bool overwrite = false, json = false, parity = false;
};

// What one rung came to.
struct Outcome {
  const Rung* rung = nullptr;
  std::int64_t parameters = 0, steps = 0;
  double flops_a_token = 0, seconds = 0;
  double train = 0, validation = 0, test = 0;  // losses; NaN: no such split
  std::string sample;
  TrainEnd end = TrainEnd::finished;
};

double loss_of(Trainer& trainer, data::Split split) {
  // Of the training split a part tells enough.
  const std::int64_t batches = split == data::Split::train ? 100 : 0;
  return measure_loss(trainer.model(), trainer.dataset(), split, 64, batches)
      .mean;
}

std::string folder_of(const Rung& rung, const Options& options) {
  return (fs::path(options.out) / std::string(rung.name)).string();
}

Outcome climb(const Rung& rung, const Options& options, double limit) {
  RunConfig config;
  config.data.lines = options.lines;
  config.data.text = options.text;
  config.data.task = options.task;
  config.model = model_of(rung);
  config.train = ladder_training();
  if (options.steps > 0) config.train.steps = options.steps;
  if (options.seed >= 0) config.train.seed = options.seed;
  config.train.warmup_steps =
      std::min(config.train.warmup_steps, config.train.steps / 10);
  RunParts parts = open_run(config, false);
  const std::string folder = folder_of(rung, options);
  RunFolder opened = open_run_folder(folder, options.overwrite);
  io::write_file((fs::path(folder) / "config.toml").string(),
                 config_toml(config));
  Trainer trainer(std::move(parts.model), std::move(parts.dataset),
                  config.train, folder, parts.data_info);
  Progress progress;
  trainer.add(opened.log);
  trainer.add(*opened.replaced);
  note(fmt::format("{:<14} {}", rung.name, rung.idea));
  trainer.add(progress);

  Outcome outcome{.rung = &rung};
  outcome.end = trainer.run({.max_seconds = limit, .interrupted = [] {
                               return caught_signal() != 0;
                             }});
  const std::int64_t block = trainer.dataset().block_size();
  outcome.parameters = trainer.model().parameter_count();
  outcome.flops_a_token =
      trainer.model().step_flops(1, block) / static_cast<double>(block);
  outcome.steps = trainer.steps_done();
  outcome.seconds = trainer.elapsed();
  if (outcome.end == TrainEnd::interrupted) return outcome;
  outcome.train = loss_of(trainer, data::Split::train);
  outcome.validation = loss_of(trainer, data::Split::validation);
  outcome.test = loss_of(trainer, data::Split::test);
  outcome.sample = judged_sample(trainer.model(), trainer.dataset(), 0, 40);
  return outcome;
}

std::string loss_text(double loss) {
  return std::isnan(loss) ? "-" : fmt::format("{:.4f}", loss);
}

// A sample in a table: one line, and not a long one.
std::string short_text(const std::string& text) {
  constexpr std::size_t kMost = 32;
  std::string shown;
  for (const char c : text) {
    // Not within a character of several bytes.
    if (shown.size() >= kMost && (static_cast<unsigned char>(c) & 0xC0) != 0x80)
      return shown + "...";
    // A control character could steer the terminal.
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  }
  return shown;
}

void print_heading() {
  fmt::print("{:<14}{:>12}{:>10}{:>9}{:>12}{:>9}{:>9}  {}\n", "rung",
             "parameters", "FLOPs/tok", "train", "validation", "test",
             "seconds", "a sample");
}

void print_row(const Outcome& o) {
  fmt::print("{:<14}{:>12}{:>10}{:>9}{:>12}{:>9}{:>9}  {}\n", o.rung->name,
             with_commas(o.parameters), short_count(o.flops_a_token),
             loss_text(o.train), loss_text(o.validation), loss_text(o.test),
             fmt::format("{:.1f}", o.seconds), short_text(o.sample));
  flush_output();
}

void print_json(const Outcome& o) {
  const auto number = [](double x) {
    return std::isnan(x) ? nlohmann::ordered_json(nullptr)
                         : nlohmann::ordered_json(x);
  };
  fmt::print("{}\n", json_line(nlohmann::ordered_json{
                         {"rung", o.rung->name},
                         {"model", o.rung->kind},
                         {"parameters", o.parameters},
                         {"flops_a_token", o.flops_a_token},
                         {"steps", o.steps},
                         {"train_loss", number(o.train)},
                         {"validation_loss", number(o.validation)},
                         {"test_loss", number(o.test)},
                         {"seconds", o.seconds},
                         {"sample", o.sample}}));
  flush_output();
}

std::vector<const Rung*> chosen(const Options& options) {
  std::vector<const Rung*> all;
  std::vector<std::string> names;
  for (const Rung& rung : rungs()) names.emplace_back(rung.name);
  for (const std::string& name : options.only)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail_input("--only: there is no rung '{}'{}", name,
                 did_you_mean(name, names));
  for (const Rung& rung : rungs())
    if (options.only.empty() ||
        std::find(options.only.begin(), options.only.end(), rung.name) !=
            options.only.end())
      all.push_back(&rung);
  return all;
}

// The validation losses of all rungs over each other.
void draw_ladder(const std::vector<Outcome>& outcomes, const Options& options) {
  plot::Curves curves;
  curves.title = "ladder";
  curves.about = "validation loss of the models of the course";
  curves.y_name = "validation loss, nats per token";
  for (const Outcome& o : outcomes) {
    const auto run = loss_curve_of(folder_of(*o.rung, options));
    curves.levels = run.levels;
    if (run.validation.size() > 1)
      curves.series.push_back({std::string(o.rung->name), run.validation});
    else if (!std::isnan(o.validation))
      curves.levels.push_back(
          {o.validation, fmt::format("{} {:.3f}", o.rung->name, o.validation)});
  }
  if (curves.series.empty()) return;
  const std::string path = (fs::path(options.out) / "ladder.svg").string();
  write_picture(path, plot::draw_curves(curves));
  note("wrote " + path);
}

int run(const Options& options) {
  use_threads(options.threads);
  if (options.parity) return print_parity(options.data_folder, options.json);
  if (!options.data_folder.empty())
    fail_input("--data goes with --parity; --lines or --text name a file");
  const auto all = chosen(options);
  const double limit = options.seconds.empty()
                           ? 0
                           : parse_duration(options.seconds, "--seconds");
  // Before the first is trained, not when its turn comes.
  for (const Rung* rung : all)
    check_run_folder(folder_of(*rung, options), options.overwrite);
  catch_signals();
  std::vector<Outcome> outcomes;
  for (const Rung* rung : all) {
    outcomes.push_back(climb(*rung, options, limit));
    if (outcomes.back().end == TrainEnd::interrupted) {
      note(fmt::format(
          "go on    qkv train --resume {}; the other rungs: the same command "
          "with --only RUNG",
          folder_of(*rung, options)));
      return 128 + caught_signal();
    }
    if (!options.json && outcomes.size() == 1) print_heading();
    (options.json ? print_json : print_row)(outcomes.back());
  }
  draw_ladder(outcomes, options);
  note(fmt::format("kept     a run a rung in {}: qkv sample {}", options.out,
                   folder_of(*all.back(), options)));
  return kDone;
}

const RegisterCommand kLadder({
    .name = "ladder",
    .purpose = Purpose::train,
    .help = "Train every model of the course on one data set, and compare",
    .examples = {{"From counting pairs to a GPT, on English words",
                  "qkv ladder"},
                 {"Three rungs on names, half a minute each",
                  "qkv ladder --lines names.txt --seconds 30s --only mlp "
                  "--only rnn --only gpt --out runs/three"}},
    .about = "Every rung has the same data, batches and training. Losses are "
             "of the whole split, of the training split a part.\n"
             "--parity trains with the settings and draws of makemore.py and "
             "the lectures, and prints the published number beside the "
             "measured one.",
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          CLI::Option* lines = app.add_option("--lines", options->lines,
                                              "File with an item a line");
          CLI::Option* text =
              app.add_option("--text", options->text, "File of running text");
          CLI::Option* task =
              app.add_option("--task", options->task, "A made-up task");
          lines->type_name("FILE")->excludes(text)->excludes(task);
          text->type_name("FILE")->excludes(task);
          task->type_name("NAME");
          CLI::Option* steps = app.add_option("--steps", options->steps,
                                              "Updates of each rung, 0: 3000")
                                   ->check(whole_number(0, kAnyCount))
                                   ->type_name("N");
          CLI::Option* seconds =
              app.add_option("--seconds", options->seconds,
                             "Training time of each rung at most: 30s, 2m")
                  ->type_name("TIME");
          CLI::Option* only =
              app.add_option("--only", options->only,
                             "A rung to climb; may be given several times")
                  ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                  ->type_name("RUNG");
          CLI::Option* seed =
              app.add_option("--seed", options->seed,
                             "Of weights and data order; -1: 1337")
                  ->check(whole_number(-1, kAnyCount))
                  ->type_name("N");
          app.add_option("--out", options->out, "Folder for the runs")
              ->type_name("DIR");
          app.add_flag("--overwrite", options->overwrite,
                       "Replace the runs in --out");
          CLI::Option* parity =
              app.add_flag("--parity", options->parity,
                           "Published settings instead, beside their numbers");
          for (CLI::Option* own :
               {lines, text, task, steps, seconds, only, seed})
            parity->excludes(own);
          app.add_option("--data", options->data_folder,
                         "Of --parity: the folder of names.txt and "
                         "tinyshakespeare.txt")
              ->type_name("DIR");
          add_threads(app, options->threads);
          app.add_flag("--json", options->json, "A JSON object a rung");
          return [options] { return run(*options); };
        },
    .computes = true,
});

}  // namespace
}  // namespace qkv::cli
