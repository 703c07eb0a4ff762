// qkv attend: where a model looks.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/arithmetic.h"
#include "cli/command.h"
#include "cli/picture_file.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "core/json.h"
#include "qkv/inspect.h"
#include "qkv/io.h"
#include "qkv/plot.h"

namespace qkv::cli {
namespace {

struct Options {
  std::string run, prompt, stage = "weights", output;
  int layer = -1, head = -1, threads = 0;
  bool steps = false, json = false;
};

// Of layers or of heads in a layer: more than any model has.
constexpr std::int64_t kMostHeads = 1 << 30;

inspect::Stage stage_of(const std::string& name) {
  const auto& names = EnumNames<inspect::Stage>::names;
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name) return static_cast<inspect::Stage>(i);
  fail_input("--stage must be raw, scaled or weights, not '{}'", name);
}

std::vector<plot::Token> tokens_of(const Tokenizer& tokenizer,
                                   const std::vector<std::int64_t>& ids) {
  std::vector<plot::Token> tokens;
  for (const std::int64_t& id : ids) {
    const std::string bytes = tokenizer.decode({&id, 1});
    const bool special = bytes.empty();
    tokens.push_back({special ? tokenizer.token_text(id) : bytes, special});
  }
  return tokens;
}

plot::Attention picture_of(const std::vector<inspect::AttentionMap>& maps,
                           const std::vector<plot::Token>& tokens,
                           inspect::Stage stage, const std::string& title) {
  plot::Attention a;
  a.title = title;
  a.about = "attention of a qkv model";
  a.first_layer = maps.front().layer;
  a.first_head = maps.front().head;
  a.layers = maps.back().layer - maps.front().layer + 1;
  a.heads = maps.back().head - maps.front().head + 1;
  a.queries = a.keys = static_cast<int>(maps.front().length);
  a.query_tokens = tokens;
  a.causal = true;
  a.quantity = stage == inspect::Stage::weights ? plot::Quantity::weights
                                                : plot::Quantity::scores;
  for (const auto& map : maps)
    a.values.insert(a.values.end(), map.values.begin(), map.values.end());
  return a;
}

nlohmann::ordered_json as_json(const std::vector<inspect::AttentionMap>& maps,
                               const Bundle& bundle,
                               const std::vector<plot::Token>& tokens,
                               const std::vector<std::int64_t>& ids,
                               const std::string& stage) {
  using Json = nlohmann::ordered_json;
  Json texts = Json::array(), heads = Json::array();
  for (const auto& token : tokens) texts.push_back(token.bytes);
  for (const auto& map : maps) {
    Json rows = Json::array();
    for (std::int64_t i = 0; i < map.length; ++i) {
      Json row = Json::array();
      for (std::int64_t j = 0; j < map.length; ++j) {
        const float v = map.values[i * map.length + j];
        row.push_back(v == inspect::kHidden ? Json(nullptr) : Json(v));
      }
      rows.push_back(std::move(row));
    }
    heads.push_back(
        Json{{"layer", map.layer}, {"head", map.head}, {"values", rows}});
  }
  Json out{{"model", bundle.path}, {"step", bundle.step}, {"stage", stage},
           {"tokens", texts},      {"ids", ids},          {"heads", heads}};
  return out;
}

// (layers, heads, T, T) f32. A hidden pair is what the softmax makes of it and
// what it sees: weight 0, score -inf.
Tensor as_tensor(const plot::Attention& a) {
  std::vector<float> values = a.values;
  if (a.quantity == plot::Quantity::weights)
    std::replace(values.begin(), values.end(), inspect::kHidden, 0.0F);
  return Tensor::from<float>({a.layers, a.heads, a.queries, a.keys}, values);
}

int run(const Options& options) {
  use_threads(options.threads);
  if (options.steps + options.json + !options.output.empty() > 1)
    fail_input(
        "--steps, --json and --output exclude each other: choose one, or "
        "give FILE.json to --output");
  const inspect::Stage stage = stage_of(options.stage);
  const std::string kind = extension_of(options.output);
  if (!options.output.empty() && !is_picture(kind) && kind != "json" &&
      kind != "npy")
    fail_input("-o must end in .svg, .png, .json or .npy, not '{}'",
               options.output);
  const Bundle bundle = load_bundle(options.run);
  auto ids = prompt_ids(*bundle.tokenizer, options.prompt);
  const auto context = static_cast<std::size_t>(bundle.model->block_size());
  if (ids.size() > context) {
    note(
        fmt::format("the prompt has {} tokens, the context {}: shown are the "
                    "last {}",
                    ids.size(), context, context));
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(context));
  }
  const auto tokens = tokens_of(*bundle.tokenizer, ids);

  plot::Terminal terminal;
  terminal.columns = is_terminal(STDOUT_FILENO) ? columns() : 100;
  terminal.colour = can_colour(STDOUT_FILENO);
  terminal.unicode = utf8_locale();

  if (options.steps) {
    const auto steps =
        inspect::head_steps(*bundle.model, ids, std::max(options.layer, 0),
                            std::max(options.head, 0));
    fmt::print("{}", arithmetic_text(steps, tokens, terminal));
    return kDone;
  }

  const auto maps = inspect::attention_maps(*bundle.model, ids, stage,
                                            options.layer, options.head);
  const auto picture = picture_of(maps, tokens, stage, options.prompt);
  const bool one = maps.size() == 1;
  if (options.json) {
    fmt::print("{}\n",
               json_line(as_json(maps, bundle, tokens, ids, options.stage)));
  } else if (options.output.empty()) {
    fmt::print("{}", one ? plot::attention_head_text(picture, 0, 0, terminal)
                         : plot::attention_grid_text(picture, terminal));
  } else if (is_picture(kind)) {
    write_picture(options.output, one ? plot::attention_head(picture, 0, 0)
                                      : plot::attention_grid(picture));
  } else if (kind == "json") {
    io::write_file(
        options.output,
        json_line(as_json(maps, bundle, tokens, ids, options.stage)) + "\n");
  } else {
    io::write_npy(options.output, as_tensor(picture));
  }
  if (!options.output.empty()) note("wrote " + options.output);
  return kDone;
}

const RegisterCommand kAttend({
    .name = "attend",
    .purpose = Purpose::look,
    .help = "Show where the heads of a model look on a text",
    .examples =
        {{"Every head of a model, in the terminal",
          "qkv attend runs/words --prompt attention"},
         {"One head, as a picture",
          "qkv attend runs/words --prompt attention --layer 1 --head 2 -o "
          "head.svg"},
         {"Its arithmetic, number by number",
          "qkv attend runs/words --prompt cat --steps"}},
    .about =
        "A pair that the causal mask hides is blank in pictures and null in "
        "JSON; in npy its weight is 0, its score -inf.",
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          add_run(app, options->run);
          app.add_option("--prompt", options->prompt, "The text")->required();
          app.add_option("--layer", options->layer,
                         "One layer, counted from 0; -1: all")
              ->check(whole_number(-1, kMostHeads))
              ->type_name("N");
          app.add_option("--head", options->head,
                         "One head, counted from 0; -1: all")
              ->check(whole_number(-1, kMostHeads))
              ->type_name("N");
          CLI::Option* stage = app.add_option(
              "--stage", options->stage,
              "raw: q.k; scaled: q.k/sqrt(d); weights: after the softmax");
          CLI::Option* output =
              app.add_option("-o,--output", options->output,
                             "Write FILE.svg, FILE.png, FILE.json or FILE.npy "
                             "instead of "
                             "drawing in the terminal")
                  ->type_name("FILE");
          CLI::Option* steps = app.add_flag(
              "--steps", options->steps,
              "The arithmetic of one head on real numbers, by default "
              "layer 0, head 0");
          add_threads(app, options->threads);
          CLI::Option* json = app.add_flag("--json", options->json,
                                           "Numbers to standard output");
          json->excludes(output);
          steps->excludes(stage)->excludes(output)->excludes(json);
          return [options] { return run(*options); };
        },
});

}  // namespace
}  // namespace qkv::cli
