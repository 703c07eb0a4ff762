// qkv train: trains a model and keeps the run in a folder.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <optional>

#include "bundle/checkpoint.h"
#include "cli/attention_snapshots.h"
#include "cli/command.h"
#include "cli/cost.h"
#include "cli/kernel_choice.h"
#include "cli/loss_plot.h"
#include "cli/progress.h"
#include "cli/run_folder.h"
#include "cli/run_log.h"
#include "cli/run_options.h"
#include "cli/sample_observer.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/train_options.h"
#include "cli/train_setup.h"
#include "core/check.h"
#include "core/json.h"
#include "qkv/bundle.h"
#include "qkv/io.h"
#include "qkv/runtime.h"

namespace qkv::cli {
namespace {

namespace fs = std::filesystem;

std::string default_folder(const data::DataConfig& data) {
  std::string name = "words";
  if (!data.lines.empty()) name = fs::path(data.lines).stem().string();
  if (!data.text.empty()) name = fs::path(data.text).stem().string();
  if (!data.task.empty()) name = data.task;
  return (fs::path("runs") / name).string();
}

std::string folder_of(const std::string& file) {
  const std::string folder = fs::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

void banner(const Trainer& trainer, const RunConfig& config) {
  LanguageModel& model = trainer.model();
  const data::Dataset& dataset = trainer.dataset();
  const auto parameters = model.parameter_count();
  const double tokens = static_cast<double>(config.train.steps) *
                        static_cast<double>(config.train.batch_size *
                                            config.train.grad_accumulation *
                                            dataset.block_size());
  for (const std::string& text : config.notes) note("note     " + text);
  note("data     " + dataset.describe());
  note(fmt::format(
      "model    {}: {} parameters, {} FLOPs a token, {:.2g} tokens a parameter",
      config.model->kind(), with_commas(parameters),
      short_count(model.step_flops(1, dataset.block_size()) /
                  static_cast<double>(dataset.block_size())),
      tokens / static_cast<double>(std::max<std::int64_t>(parameters, 1))));
  note(fmt::format("machine  {}, {} ({}), {} thread{} ({})",
                   runtime::cpu_name(), runtime::instruction_set(),
                   runtime::instruction_set_reason(), runtime::threads(),
                   runtime::threads() == 1 ? "" : "s",
                   runtime::threads_reason()));
  if (const auto kernels = kernels_of(model); !kernels.empty())
    note("kernels  " + in_a_line(kernels));
  note(fmt::format("run      {}, seed {}", trainer.directory(),
                   config.train.seed));

  // The token tables against everything else.
  std::int64_t tables = 0;
  for (const auto& p :  // a tied table once
       optim::parameters_of(model.parameters(), optim::DecayRule::all))
    if (p.tensor.rank() == 2 && p.tensor.dim(0) == model.vocab_size())
      tables += p.tensor.numel();
  if (2 * tables > parameters && parameters > 100000)
    note(fmt::format(
        "warning  {:.0f} % of the parameters are tables of the {} "
        "tokens: a smaller vocabulary or a larger model would use "
        "them better",
        100.0 * static_cast<double>(tables) / static_cast<double>(parameters),
        with_commas(model.vocab_size())));
}

const char* word_for(TrainEnd end) {
  switch (end) {
    case TrainEnd::finished:
      return "finished";
    case TrainEnd::stopped:
      return "stopped";
    case TrainEnd::out_of_time:
      return "out_of_time";
    case TrainEnd::interrupted:
      return "interrupted";
  }
  return "";
}

// What came out, for a program.
void print_json(const Trainer& trainer, TrainEnd end) {
  nlohmann::ordered_json out = {
      {"run", trainer.directory()},
      {"end", word_for(end)},
      {"step", trainer.steps_done()},
      {"parameters", trainer.model().parameter_count()}};
  if (!std::isnan(trainer.best_validation_loss())) {
    out["best_validation_loss"] = trainer.best_validation_loss();
    out["best_step"] = trainer.best_step();
  }
  out["memory_peak"] = runtime::memory().peak;
  fmt::print("{}\n", json_line(out));
}

int finish(const Trainer& trainer, TrainEnd end) {
  const std::string& folder = trainer.directory();
  const auto tokens = trainer.dataset().tokenizer().vocab_size();
  if (!std::isnan(trainer.best_validation_loss()))
    note(fmt::format(
        "best     validation loss {:.4f} at step {}, guessing is ln {} = "
        "{:.4f}",
        trainer.best_validation_loss(), with_commas(trainer.best_step()),
        tokens, std::log(static_cast<double>(tokens))));
  note(fmt::format("memory   {} at most for numbers",
                   bytes_text(static_cast<double>(runtime::memory().peak))));
  std::string kept;
  for (const char* name : {"best.safetensors", "last.safetensors", "loss.svg"})
    if (const fs::path file = fs::path(folder) / name; fs::exists(file))
      kept += (kept.empty() ? "" : ", ") + file.string();
  note("kept     " + kept);
  if (end != TrainEnd::finished)
    note(fmt::format("go on    qkv train --resume {}", folder));
  note(fmt::format("sample   qkv sample {}", folder));
  if (end != TrainEnd::interrupted) return kDone;
  return 128 + caught_signal();
}

int run(const TrainOptions& options) {
  use_threads(options.threads);
  const bool resumed = !options.resume.empty();
  const std::string checkpoint =
      resumed ? checkpoint_path(options.resume, Prefer::last) : "";
  RunConfig config =
      resumed ? resolve_resume(options, checkpoint) : resolve(options);
  const double max_seconds =
      options.max_time.empty() ? 0
                               : parse_duration(options.max_time, "--max-time");
  if (options.dry_run) return print_cost(config, options.json);
  RunParts parts = open_run(config, resumed);
  const std::string folder = resumed ? folder_of(checkpoint)
                             : !options.out.empty()
                                 ? options.out
                                 : default_folder(config.data);
  AttentionSnapshots snapshots(options.snapshot_attention,
                               options.snapshot_prompt, *parts.model,
                               *parts.dataset);
  RunFolder opened =
      resumed ? RunFolder{RunLog((fs::path(folder) / "log.jsonl").string()), {}}
              : open_run_folder(folder, options.overwrite);
  RunLog& log = opened.log;

  const auto in_folder = [&](const char* name) {
    return (fs::path(folder) / name).string();
  };
  Trainer trainer(std::move(parts.model), std::move(parts.dataset),
                  config.train, folder, parts.data_info);
  if (resumed)
    trainer.resume(checkpoint);
  else
    io::write_file(in_folder("config.toml"), config_toml(config));

  catch_signals();
  banner(trainer, config);

  Progress progress;
  SampleObserver samples(options.sample_every, log, [&] { progress.clear(); });
  LossPlot loss_plot;
  trainer.add(log);
  if (opened.replaced) trainer.add(*opened.replaced);
  if (!options.quiet) trainer.add(progress);
  trainer.add(samples);
  trainer.add(snapshots);
  trainer.add(loss_plot);

  const TrainEnd end =
      trainer.run({.stop_at = options.stop_at,
                   .max_seconds = max_seconds,
                   .interrupted = [] { return caught_signal() != 0; }});
  if (options.json) print_json(trainer, end);
  return finish(trainer, end);
}

const RegisterCommand kTrain({
    .name = "train",
    .purpose = Purpose::train,
    .help = "Train a model",
    .examples = {{"Names like those of a file with one a line",
                  "qkv train --lines names.txt --steps 2000 --out runs/names"},
                 {"Running text, for ten minutes",
                  "qkv train --text corpus.txt --max-time 10m"},
                 {"Go on with a run, bit for bit",
                  "qkv train --resume runs/names"},
                 {"What a large model would cost",
                  "qkv train --preset gpt2 --dry-run"}},
    .about = "Without data options it trains on the English words of Debian's "
             "wamerican. Ctrl-C ends a run after saving it.",
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<TrainOptions>();
          add_train_options(app, *options);
          CLI::Option* config = app.get_option("--config");
          return [options, config] {
            if (*config) options->config_file = config->as<std::string>();
            return run(*options);
          };
        },
    .section = "run",
    .computes = true,
});

}  // namespace
}  // namespace qkv::cli
