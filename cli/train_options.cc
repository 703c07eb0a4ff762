#include "cli/train_options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <map>
#include <vector>

#include "cli/run_options.h"
#include "core/json.h"
#include "data/task_kinds.h"
#include "qkv/data.h"
#include "qkv/model.h"
#include "qkv/train.h"

namespace qkv::cli {
namespace {

// The names of presets, tasks or models: "a|b|c".
template <class Named>
std::string joined(const Named& all) {
  std::string names;
  for (const auto& one : all)
    names += (names.empty() ? "" : "|") + std::string(one.name);
  return names;
}

void add_data_options(CLI::App& app, TrainOptions& o) {
  o.data_fields.add(app, "Data", [](FieldVisitor& v) {
    data::DataConfig defaults;
    visit_fields(v, defaults);
  });
  for (const char* file : {"lines", "text", "validation_text"})
    o.data_fields.at(file)->type_name("FILE");
  o.data_fields.at("task")->type_name(joined(data::task_kinds()));
}

void add_setting_options(CLI::App& app, TrainOptions& o) {
  const char* group = "Setting";
  app.add_option("--preset", o.preset,
                 "A published setting; by default makemore for words and "
                 "lines, nanogpt-cpu for text, mingpt-nano for tasks")
      ->group(group)
      ->type_name(joined(presets()));
  app.add_option("--model", o.model, "Kind of model instead of the preset's")
      ->group(group)
      ->type_name(joined(model_kinds()));
  app.add_option("--init-from", o.init_from,
                 "Begin with the weights of this run or checkpoint, in a model "
                 "of its form")
      ->group(group)
      ->type_name("RUN");
}

void add_run_options(CLI::App& app, TrainOptions& o) {
  const char* group = "Run";
  app.add_option("--out", o.out,
                 "Folder for the run; by default runs/ and the data's name")
      ->group(group)
      ->type_name("DIR");
  CLI::Option* resume =
      app.add_option("--resume", o.resume,
                     "Go on with the run in this folder, bit for bit")
          ->group(group)
          ->type_name("RUN");
  app.add_flag("--overwrite", o.overwrite, "Replace the run in --out")
      ->group(group)
      ->excludes(resume);
  app.add_option("--max-time", o.max_time,
                 "End after this much training: 90s, 15m, 2h")
      ->group(group)
      ->type_name("TIME");
  app.add_option("--stop-at", o.stop_at,
                 "End after this many updates, keeping the schedule of --steps")
      ->group(group)
      ->check(whole_number(0, kAnyCount))
      ->default_str("")
      ->type_name("N");
  app.add_option("--sample-every", o.sample_every,
                 "Updates between samples, 0: none")
      ->group(group)
      ->check(whole_number(0, kAnyCount))
      ->type_name("N");
  app.add_option("--snapshot-attention", o.snapshot_attention,
                 "Updates between two looks at all heads on one text, kept in "
                 "the run's attention/, 0: none")
      ->group(group)
      ->check(whole_number(0, kAnyCount))
      ->type_name("N");
  app.add_option("--snapshot-prompt", o.snapshot_prompt,
                 "That text; without it the first of the validation data")
      ->group(group)
      ->type_name("TEXT");
  app.add_flag("--dry-run", o.dry_run,
               "Say what the run would cost, and train nothing")
      ->group(group);
  app.add_flag("--quiet", o.quiet, "No progress")->group(group);
  app.add_flag("--json", o.json, "At the end one JSON object of what came out")
      ->group(group);
}

// "of mlp, wavenet" or "not of bigram", whichever is shorter; empty: of all.
std::string whose(const std::vector<std::string>& have,
                  const std::vector<ModelKind>& kinds) {
  if (have.size() == kinds.size()) return "";
  std::vector<std::string> lack;
  for (const ModelKind& kind : kinds)
    if (std::find(have.begin(), have.end(), kind.name) == have.end())
      lack.emplace_back(kind.name);
  return lack.size() < have.size()
             ? fmt::format(" (not of {})", fmt::join(lack, ", "))
             : fmt::format(" (of {})", fmt::join(have, ", "));
}

void add_model_options(CLI::App& app, TrainOptions& o) {
  const char* group = "Model (these defaults where the preset has no other)";
  auto kinds = model_kinds();
  // Of a field that several have, the GPT's default is shown.
  std::stable_partition(kinds.begin(), kinds.end(), [](const ModelKind& kind) {
    return kind.name == "gpt";
  });
  std::map<std::string, std::vector<std::string>> kinds_with;
  for (const ModelKind& kind : kinds) {
    auto defaults = kind.config();
    const auto fields = [&](FieldVisitor& v) { defaults->visit(v); };
    o.model_fields.add(app, group, fields);
    const auto values = fields_to_json(fields);
    for (const auto& [field, value] : values.items())
      kinds_with[field].emplace_back(kind.name);
  }
  for (const auto& [field, names] : kinds_with) {
    CLI::Option* option = o.model_fields.at(field);
    option->description(option->get_description() + whose(names, kinds));
  }
  app.add_option("--dropout", o.dropout, "All dropouts of the model at once")
      ->group(group)
      ->type_name("X");
}

}  // namespace

void add_train_options(CLI::App& app, TrainOptions& o) {
  add_data_options(app, o);
  add_setting_options(app, o);
  add_run_options(app, o);
  o.train_fields.add(app,
                     "Training (these defaults where the preset has no other)",
                     [](FieldVisitor& v) {
                       TrainConfig defaults;
                       visit_fields(v, defaults);
                     });
  add_model_options(app, o);
  add_threads(app, o.threads);
}

}  // namespace qkv::cli
