// qkv eval: how well a model predicts.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <chrono>
#include <cmath>

#include "cli/command.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "core/json.h"
#include "qkv/train.h"

namespace qkv::cli {
namespace {

struct Options {
  std::string run, text, split = "validation";
  std::int64_t batch_size = 64;
  int threads = 0;
  bool json = false;
};

int run(const Options& options) {
  use_threads(options.threads);
  const Bundle bundle = load_bundle(options.run);
  std::string why;
  std::unique_ptr<data::Dataset> dataset;
  data::Split split = data::Split::validation;
  if (!options.text.empty()) {
    dataset = data::text_for_evaluation(options.text, bundle.tokenizer,
                                        bundle.model->block_size());
  } else {
    dataset = reopen_data(bundle, why);
    if (!dataset)
      fail_input(
          "the data of {} cannot be read: {}; --text FILE measures on "
          "another text",
          options.run, why);
    split = chosen<data::Split>(options.split);
  }
  if (dataset->examples(split) == 0)
    fail_input("{}: its data has no {} split", options.run, options.split);

  const auto begin = std::chrono::steady_clock::now();
  const SplitLoss model_loss =
      measure_loss(*bundle.model, *dataset, split, options.batch_size, 0);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  const double uniform =
      std::log(static_cast<double>(bundle.tokenizer->vocab_size()));
  // The counted bigram learns from the training split alone.
  const bool with_bigram = options.text.empty();
  const double bigram =
      with_bigram ? counted_bigram_loss(*dataset, split) : std::nan("");
  const double loss = model_loss.mean;
  if (!std::isfinite(loss))
    fail_numeric(
        "{}: the loss is {}: its weights or what they give are no "
        "numbers",
        bundle.path, loss);

  if (options.json) {
    nlohmann::ordered_json out = {
        {"run", bundle.path},
        {"step", bundle.step},
        {"split", options.text.empty() ? options.split : options.text},
        {"loss", loss},
        {"perplexity", std::exp(loss)},
        {"bits_per_token", loss / std::log(2.0)},
        {"tokens", model_loss.tokens},
        {"uniform_loss", uniform},
        {"seconds", seconds}};
    if (model_loss.bytes > 0)
      out["bits_per_byte"] = loss / std::log(2.0) *
                             static_cast<double>(model_loss.tokens) /
                             static_cast<double>(model_loss.bytes);
    if (with_bigram) out["bigram_loss"] = bigram;
    fmt::print("{}\n", json_line(out));
    return kDone;
  }
  const auto row = [](const std::string& name, double value,
                      const std::string& remark) {
    fmt::print("{:<22} {:>8.4f}   {}\n", name, value, remark);
  };
  const std::string where =
      options.text.empty() ? options.split + " split" : options.text;
  fmt::print("{}, step {}, on the {}: {} tokens\n", bundle.path,
             with_commas(bundle.step), where, with_commas(model_loss.tokens));
  row("loss", loss, "nats per token");
  row("perplexity", std::exp(loss), "");
  row("bits per token", loss / std::log(2.0), "");
  if (model_loss.bytes > 0)
    row("bits per byte",
        loss / std::log(2.0) * static_cast<double>(model_loss.tokens) /
            static_cast<double>(model_loss.bytes),
        "");
  if (with_bigram)
    row("counted bigram", bigram, "the loss of counting pairs of tokens");
  row("guessing", uniform,
      fmt::format("ln {}, every token alike", bundle.tokenizer->vocab_size()));
  return kDone;
}

const RegisterCommand kEval({
    .name = "eval",
    .purpose = Purpose::use,
    .help = "Measure a model: loss, perplexity, bits per byte",
    .examples = {{"On what was held out of its own data",
                  "qkv eval runs/names"},
                 {"On another text, for a program to read",
                  "qkv eval runs/corpus --text other.txt --json"}},
    .about = "The whole split is measured; running text in windows of the "
             "context that do not overlap.",
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          add_run(app, options->run);
          CLI::Option* split = choose(
              app.add_option("--split", options->split,
                             "Part of the data it was trained on; test where "
                             "there is one"),
              {"train", "validation", "test"});
          app.add_option("--text", options->text,
                         "Measure on this text file instead")
              ->excludes(split)
              ->type_name("FILE");
          app.add_option("--batch-size", options->batch_size,
                         "Sequences at once")
              ->check(whole_number(1, 1 << 20))
              ->type_name("N");
          add_threads(app, options->threads);
          app.add_flag("--json", options->json, "One JSON object");
          return [options] { return run(*options); };
        },
    .computes = true,
});

}  // namespace
}  // namespace qkv::cli
