// qkv sample: text from a trained model.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <limits>
#include <system_error>

#include "cli/command.h"
#include "cli/config_options.h"
#include "cli/draw_sample.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "core/json.h"

namespace qkv::cli {
namespace {

struct Options {
  std::string run, prompt;
  std::int64_t count = -1;   // -1: 10 items, or one text
  std::int64_t tokens = -1;  // -1: an item's longest, or 500
  std::int64_t seed = 1337;
  int threads = 0;
  bool json = false;
  ConfigOptions sampling;
};

// What is printed of one.
struct Row {
  Sample sample;
  std::int64_t seed = 0;
  std::string known;  // "in train", "new", "right", …; empty: cannot be said
};

// Text that streams: a reader that left ends it at once.
void print_now(const std::string& piece) {
  fmt::print("{}", piece);
  flush_output();
}

// Rows are printed by groups: a column can be aligned, and a reader does not
// wait for the last of a million.
constexpr std::size_t kGroup = 50;

// widest: of the texts so far, so that later groups stand below earlier ones.
void print_group(const std::vector<Row>& rows, std::size_t& widest) {
  for (const Row& row : rows) widest = std::max(widest, row.sample.text.size());
  std::string lines;
  for (const Row& row : rows)
    lines += row.known.empty() ? row.sample.text + "\n"
                               : fmt::format("{:<{}}  {}\n", row.sample.text,
                                             widest, row.known);
  print_now(lines);
}

void print_json(const Row& row) {
  nlohmann::ordered_json line = {{"text", row.sample.text},
                                 {"tokens", row.sample.tokens},
                                 {"seed", row.seed}};
  if (!row.known.empty()) line["known"] = row.known;
  print_now(json_line(line) + "\n");
}

int run(const Options& options) {
  use_threads(options.threads);
  const Bundle bundle = load_bundle(options.run);
  generate::SampleOptions sampling;
  options.sampling.apply(
      [&](FieldVisitor& visitor) { visit_fields(visitor, sampling); });
  const Tokenizer& tokenizer = *bundle.tokenizer;
  const bool items = tokenizer.stop_token().has_value();
  const auto prompt = prompt_ids(tokenizer, options.prompt);
  const std::int64_t count =
      options.count >= 0 ? options.count : (items ? 10 : 1);
  const std::int64_t tokens = options.tokens >= 0
                                  ? options.tokens
                                  : (items ? bundle.model->block_size() : 500);
  const auto context = bundle.model->block_size();
  if (static_cast<std::int64_t>(prompt.size()) > context)
    note(
        fmt::format("the prompt has {} tokens, the context {}: the model sees "
                    "the last {}",
                    prompt.size(), context, context));

  std::string why;
  std::unique_ptr<data::Dataset> dataset;
  if (items) {
    dataset = reopen_data(bundle, why);
    if (!dataset) note("samples are not marked as known or new: " + why);
  }
  const bool stream = !items && !options.json;
  std::size_t widest = 0;
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    sampling.seed = static_cast<std::uint64_t>(options.seed + i);
    // Without a prompt, a task asks its own questions.
    const auto asked =
        dataset && options.prompt.empty()
            ? prompt_ids(tokenizer, dataset->prompt(options.seed + i))
            : prompt;
    if (stream) fmt::print("{}", tokenizer.decode(asked));
    Row row{.seed = options.seed + i};
    row.sample = draw_sample(
        *bundle.model, tokenizer, asked, tokens, sampling,
        stream ? print_now : std::function<void(const std::string&)>());
    if (stream) fmt::print("\n{}", i + 1 < count ? "---\n" : "");
    if (dataset) row.known = dataset->judge(row.sample.text);
    if (options.json)
      print_json(row);
    else if (items)
      rows.push_back(std::move(row));
    if (rows.size() == kGroup) {
      print_group(rows, widest);
      rows.clear();
    }
  }
  print_group(rows, widest);
  return kDone;
}

const RegisterCommand kSample({
    .name = "sample",
    .purpose = Purpose::use,
    .help = "Make up text with a trained model",
    .examples = {{"Names that no one has", "qkv sample runs/names"},
                 {"A text that goes on from another, less daring",
                  "qkv sample runs/corpus --prompt 'To be' --temperature 0.8 "
                  "--tokens 200"},
                 {"The likeliest only, for a program to read",
                  "qkv sample runs/names --prompt an --temperature 0 --count "
                  "1 --json"}},
    .about = "Past the model's context the oldest tokens are forgotten: each "
             "new token sees the last ones that fit.",
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          add_run(app, options->run);
          app.add_option("--prompt", options->prompt,
                         "Text to go on from; without it a task asks its own "
                         "questions");
          app.add_option("--count", options->count,
                         "Samples to draw; by default 10 items, or one text")
              ->check(whole_number(0, kAnyCount))
              ->default_str("")
              ->type_name("N");
          app.add_option(
                 "--tokens", options->tokens,
                 "Most tokens of a sample; by default an item's longest, "
                 "or 500")
              ->check(whole_number(0, kAnyCount))
              ->default_str("")
              ->type_name("N");
          app.add_option("--seed", options->seed,
                         "Of the first sample; the next has one more. The same "
                         "seed gives the same text")
              ->check(whole_number(std::numeric_limits<std::int64_t>::min(),
                                   kAnyCount))
              ->type_name("N");
          options->sampling.add(app, "Sampling", [](FieldVisitor& visitor) {
            generate::SampleOptions defaults;
            visit_fields(visitor, defaults);
          });
          add_threads(app, options->threads);
          app.add_flag("--json", options->json, "One JSON object a line");
          return [options] { return run(*options); };
        },
    .computes = true,
});

}  // namespace
}  // namespace qkv::cli
