#include "cli/train_setup.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>

#include "bundle/checkpoint.h"
#include "cli/config_file.h"
#include "cli/terminal.h"
#include "cli/toml.h"
#include "core/check.h"
#include "core/fields_json.h"
#include "core/json.h"

namespace qkv::cli {
namespace {

// The preset that suits the data when none is named.
std::string default_preset(const data::DataConfig& data) {
  if (!data.text.empty()) return "nanogpt-cpu";
  if (!data.task.empty()) return "mingpt-nano";
  return "makemore";
}

void set_dropout(const std::string& text, ModelConfig& model,
                 const ConfigOptions& given) {
  if (text.empty()) return;
  const auto visit = [&](FieldVisitor& v) { model.visit(v); };
  nlohmann::json values = nlohmann::json::object();
  const auto fields = fields_to_json(visit);
  for (const auto& [name, value] : fields.items())
    if (name.ends_with("dropout") && !given.given(name))
      values[name] = field_from_text(text, name, visit, "--dropout");
  if (values.empty())
    fail_input("--dropout: a {} model has no dropout", model.kind());
  fields_from_json(values, visit, "--dropout");
}

// Applies the options that were given on the command line.
void apply_options(const TrainOptions& options, RunConfig& config) {
  options.data_fields.apply(
      [&](FieldVisitor& v) { visit_fields(v, config.data); });
  options.train_fields.apply(
      [&](FieldVisitor& v) { visit_fields(v, config.train); });
  const auto model = [&](FieldVisitor& v) { config.model->visit(v); };
  for (const std::string& field : options.model_fields.foreign({model}))
    fail_input("{} does not belong to a {} model", option_name(field),
               config.model->kind());
  options.model_fields.apply(model);
  set_dropout(options.dropout, *config.model, options.model_fields);
}

// The file's data and the options over it; a source named there takes the place
// of the file's.
data::DataConfig resolve_data(const TrainOptions& options,
                              const nlohmann::json& file,
                              data::DataConfig data = {}) {
  const auto fields = [&](FieldVisitor& v) { visit_fields(v, data); };
  if (file.contains("data"))
    fields_from_json(file["data"], fields, options.config_file + ": [data]");
  for (const char* source : {"lines", "text", "task"})
    if (options.data_fields.given(source))
      data.lines = data.text = data.task = "";
  options.data_fields.apply(fields);
  return data;
}

// The sections model and train over what stands.
void apply_file(const nlohmann::json& file, const std::string& path,
                RunConfig& config) {
  check_sections(file, path);
  for (const auto& [name, section] : file.items()) {
    const std::string where = fmt::format("{}: [{}]", path, name);
    if (name == "train") {
      fields_from_json(
          section, [&](FieldVisitor& v) { visit_fields(v, config.train); },
          where);
    } else if (name == "model") {
      nlohmann::json fields = section;
      if (fields.is_object()) fields.erase("kind");
      fields_from_json(
          fields, [&](FieldVisitor& v) { config.model->visit(v); }, where);
    }
  }
}

// The text under a name; "" where there is none.
std::string text_in(const nlohmann::json& object, const char* name,
                    const std::string& where) {
  const auto it = object.find(name);
  if (it == object.end()) return "";
  if (!it->is_string())
    fail_input("{}: {} must be a text, not {}", where, name, it->dump());
  return it->get<std::string>();
}

// The weights of another model, in a model of this configuration.
std::unique_ptr<LanguageModel> begin_with(const Bundle& origin,
                                          const ModelConfig& config) {
  const nn::SkipInit unset;
  auto model = config.make();
  std::map<std::string, Tensor> weights;
  for (const nn::NamedTensor& p : origin.model->state())
    weights[p.name] = p.tensor;
  try {
    model->load(weights);
  } catch (const Error& error) {
    fail_input("--init-from {}: {}", origin.path, error.what());
  }
  return model;
}

// A run made shorter than its preset's warm-up gets a tenth of it as warm-up.
void fit_warmup(const TrainOptions& options, RunConfig& config) {
  TrainConfig& train = config.train;
  if (!options.train_fields.given("steps") ||
      options.train_fields.given("warmup_steps") ||
      2 * train.warmup_steps <= train.steps)
    return;
  train.warmup_steps = train.steps / 10;
  config.notes.push_back(
      fmt::format("the warm-up is a tenth of the {} steps: {}", train.steps,
                  train.warmup_steps));
}

}  // namespace

RunConfig resolve(const TrainOptions& options) {
  RunConfig config;
  nlohmann::json file = nlohmann::json::object();
  if (!options.config_file.empty()) file = read_toml(options.config_file);
  // The data decides which preset is the default: it comes first.
  config.data = resolve_data(options, file);

  std::string name = options.preset;
  if (name.empty()) name = text_in(file, "preset", options.config_file);
  if (name.empty()) name = default_preset(config.data);
  const Preset& chosen = preset(name);
  config.model = apply_preset(chosen, config.train);
  data::DataConfig cut;
  fields_from_json(
      parse_json(chosen.data, name),
      [&](FieldVisitor& v) { visit_fields(v, cut); }, "preset " + name);
  // How lines are cut says nothing of a text or a task.
  if (!config.data.text.empty() || !config.data.task.empty()) cut = {};
  config.data = resolve_data(options, file, cut);
  if (!options.init_from.empty()) {
    config.origin = std::make_unique<Bundle>(load_bundle(options.init_from));
    config.model = config.origin->model->config().clone();
  }
  const auto model = file.value("model", nlohmann::json::object());
  std::string kind = options.model;
  if (kind.empty())
    kind = text_in(model, "kind", options.config_file + ": [model]");
  if (!kind.empty() && kind != config.model->kind())
    config.model = model_config(kind);
  apply_file(file, options.config_file, config);
  apply_options(options, config);
  fit_warmup(options, config);
  config.fixed_block_size = config.origin ||
                            options.model_fields.given("block_size") ||
                            model.contains("block_size");
  return config;
}

namespace {

// Where the data lie may change since a run began; what is made of them may
// not.
void check_same_examples(data::DataConfig here, data::DataConfig there,
                         const std::string& checkpoint) {
  there.lines = here.lines;
  there.text = here.text;
  there.validation_text = here.validation_text;
  const std::vector<std::string> differences =
      field_differences([&](FieldVisitor& v) { visit_fields(v, here); },
                        [&](FieldVisitor& v) { visit_fields(v, there); });
  if (differences.empty()) return;
  fail_input(
      "{}: does not continue this run (here: this run, there: the checkpoint): "
      "{}",
      checkpoint, fmt::join(differences, "; "));
}

}  // namespace

RunConfig resolve_resume(const TrainOptions& options,
                         const std::string& checkpoint) {
  for (const auto& [name, value] : {std::pair("--preset", options.preset),
                                    {"--model", options.model},
                                    {"--config", options.config_file},
                                    {"--init-from", options.init_from},
                                    {"--out", options.out}})
    if (!value.empty())
      fail_input(
          "{} and --resume exclude each other: a run goes on as it was "
          "begun",
          name);
  Checkpoint saved = read_checkpoint(checkpoint, ReadOptimizer::no);
  RunConfig config;
  config.model = std::move(saved.model);
  const auto data =
      json_value(saved.info, "data", nlohmann::json::object(), checkpoint);
  fields_from_json(
      json_value(data, "config", nlohmann::json::object(), checkpoint),
      [&](FieldVisitor& v) { visit_fields(v, config.data); },
      checkpoint + ": data");
  fields_from_json(
      json_value(saved.info, "train", nlohmann::json::object(), checkpoint),
      [&](FieldVisitor& v) { visit_fields(v, config.train); },
      checkpoint + ": train");
  const data::DataConfig begun = config.data;
  apply_options(options, config);
  check_same_examples(config.data, begun, checkpoint);
  config.fixed_block_size = true;
  return config;
}

RunParts open_run(RunConfig& config, bool skip_init) {
  RunParts parts;
  validate(config.train);
  const auto seed = static_cast<std::uint64_t>(config.train.seed);
  nn::manual_seed(seed);
  const auto fields =
      fields_to_json([&](FieldVisitor& v) { config.model->visit(v); });
  const auto block_size = fields.value("block_size", std::int64_t{64});
  const auto vocab_size = fields.value("vocab_size", std::int64_t{0});

  data::OpenOptions open{.block_size = block_size};
  if (config.origin) open.tokenizer = config.origin->tokenizer;
  try {
    parts.dataset = data::open(config.data, open, nn::default_rng());
  } catch (const data::WordListMissing& missing) {
    config.notes.push_back(std::string(missing.what()) +
                           "; training on the task 'sort' instead");
    config.data.task = "sort";
    parts.dataset = data::open(config.data, open, nn::default_rng());
  }

  const std::int64_t tokens = parts.dataset->tokenizer().vocab_size();
  if (vocab_size != 0 && vocab_size < tokens)
    fail_input("vocab_size {} is less than the {} tokens of the data",
               vocab_size, tokens);
  config.model->set_vocab_size(std::max(vocab_size, tokens));
  // Items and tasks bring their own context; a longer one is allowed.
  const std::int64_t own = parts.dataset->block_size();
  if (!config.fixed_block_size)
    config.model->set_block_size(own);
  else if (own > block_size)
    fail_input(
        "block_size {} is less than the {} tokens that the longest item needs",
        block_size, own);
  // Before a folder is made or a run replaced.
  if (fields.value("batch_norm", false) && config.train.batch_size == 1 &&
      (config.data.window > 0 || own == 1))
    fail_input(
        "batch_size 1: batch_norm takes a variance over the answers of a "
        "batch, and there is 1; use 2 or more");
  const auto context = fields.value("context", std::int64_t{0});
  const std::int64_t length = config.fixed_block_size ? block_size : own;
  if (context > length)
    fail_input(
        "context {} is longer than the {} tokens of a sequence: use {} or "
        "less",
        context, length, length);
  if (config.origin) {
    parts.model = begin_with(*config.origin, *config.model);
    config.origin.reset();  // no second copy of the weights while training
  } else {
    std::unique_ptr<nn::SkipInit> skip;
    if (skip_init) skip = std::make_unique<nn::SkipInit>();
    parts.model = config.model->make();
  }
  if (!skip_init) parts.dataset->start(nn::default_rng());
  parts.data_info =
      nlohmann::json{{"config", fields_to_json([&](FieldVisitor& v) {
                        visit_fields(v, config.data);
                      })},
                     {"block_size", block_size},
                     {"seed", config.train.seed}}
          .dump();
  return parts;
}

std::string config_toml(const RunConfig& config) {
  nlohmann::ordered_json sections;
  data::DataConfig data = config.data;
  TrainConfig train = config.train;
  sections["data"] =
      fields_to_json([&](FieldVisitor& v) { visit_fields(v, data); });
  const auto model =
      fields_to_json([&](FieldVisitor& v) { config.model->visit(v); });
  sections["model"]["kind"] = std::string(config.model->kind());
  for (const auto& [name, value] : model.items())
    sections["model"][name] = value;
  sections["train"] =
      fields_to_json([&](FieldVisitor& v) { visit_fields(v, train); });
  return to_toml(sections);
}

double parse_duration(const std::string& text, const std::string& option) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const double factor = unit.empty() || unit == "s" ? 1
                        : unit == "m"               ? 60
                        : unit == "h"               ? 3600
                                                    : 0;
  if (error != std::errc() || factor == 0 || !(value > 0) ||
      !std::isfinite(value))
    fail_input("{} must be a time such as 90s, 15m or 2h, not '{}'", option,
               text);
  return value * factor;
}

}  // namespace qkv::cli
