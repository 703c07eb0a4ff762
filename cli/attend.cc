// qkv attend: where a model looks.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <charconv>
#include <filesystem>

#include "cli/arithmetic.h"
#include "cli/attention_text.h"
#include "cli/command.h"
#include "cli/picture_file.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "core/json.h"
#include "core/text.h"
#include "qkv/inspect.h"
#include "qkv/io.h"
#include "qkv/plot.h"

namespace qkv::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string run, stage = "weights", output;
  std::vector<std::string> prompts, marks;
  std::string weights, tokens, key_tokens;
  int layer = -1, head = -1, threads = 0;
  bool steps = false, json = false, all_heads = false;
};

// "1.0" or "1.0=induction".
plot::Mark mark_of(const std::string& text) {
  plot::Mark mark;
  const char* const end = text.data() + text.size();
  const auto layer = std::from_chars(text.data(), end, mark.layer);
  if (layer.ec == std::errc() && layer.ptr != end && *layer.ptr == '.') {
    const auto head = std::from_chars(layer.ptr + 1, end, mark.head);
    if (head.ec == std::errc() && (head.ptr == end || *head.ptr == '=')) {
      if (head.ptr != end) mark.name.assign(head.ptr + 1, end);
      return mark;
    }
  }
  fail_input(
      "--mark: LAYER.HEAD or LAYER.HEAD=NAME, as in 1.0=induction, not {}",
      quote(text));
}

// What cannot be meant together, before anything is read.
void check_options(const Options& o) {
  if (o.weights.empty()) {
    if (o.run.empty())
      fail_input("name a RUN, or a file of weights by --weights");
    if (o.prompts.empty()) fail_input("--prompt is missing: the text to read");
    if (!o.tokens.empty() || !o.key_tokens.empty())
      fail_input("--tokens and --key-tokens go with --weights");
  } else {
    if (!o.run.empty() || !o.prompts.empty() || o.steps)
      fail_input(
          "--weights takes the place of RUN, --prompt and --steps: leave them "
          "out");
    if (o.tokens.empty())
      fail_input(
          "--tokens is missing: the file with a token for each row of {}",
          o.weights);
  }
  if (o.steps && o.prompts.size() > 1)
    fail_input("--steps shows one text: give one --prompt");
  if (o.all_heads && o.output.empty())
    fail_input("--all-heads needs the folder for its files: -o FOLDER");
  const std::string kind = extension_of(o.output);
  if (!o.output.empty() && !o.all_heads && !is_picture(kind) &&
      kind != "html" && kind != "json" && kind != "npy")
    fail_input("-o must end in .svg, .png, .html, .json or .npy, not '{}'",
               o.output);
}

// The picture of one text: a head where there is just one, else the grid.
plot::Picture picture_of(const plot::Attention& a) {
  return a.values.size() == static_cast<std::size_t>(a.queries) * a.keys
             ? plot::attention_head(a, 0, 0)
             : plot::attention_grid(a);
}

std::string drawn_in_terminal(const plot::Attention& a) {
  const plot::Terminal terminal = this_terminal();
  return a.layers * a.heads == 1 ? plot::attention_head_text(a, 0, 0, terminal)
                                 : plot::attention_grid_text(a, terminal);
}

// A file a head: FOLDER/layer-0-head-1.svg.
void write_every_head(const std::string& folder,
                      const std::vector<AttentionText>& texts) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_io("{}: cannot be made: {}", folder, error.message());
  const plot::Attention& first = texts.front().attention;
  for (int layer = 0; layer < first.layers; ++layer)
    for (int head = 0; head < first.heads; ++head) {
      std::vector<plot::Picture> pictures;
      pictures.reserve(texts.size());
      for (const AttentionText& text : texts)
        pictures.push_back(plot::attention_head(text.attention, layer, head));
      const std::string name =
          fmt::format("layer-{}-head-{}.svg", first.first_layer + layer,
                      first.first_head + head);
      write_picture((fs::path(folder) / name).string(),
                    plot::side_by_side(pictures));
    }
}

std::string json_text(const std::vector<AttentionText>& texts,
                      const nlohmann::ordered_json& source) {
  nlohmann::ordered_json out = source;
  if (texts.size() == 1) {
    out.update(as_json(texts.front()));
  } else {
    for (const AttentionText& text : texts)
      out["texts"].push_back(as_json(text));
  }
  return json_line(out) + "\n";
}

void write_output(const std::string& path,
                  const std::vector<AttentionText>& texts,
                  const nlohmann::ordered_json& source) {
  const std::string kind = extension_of(path);
  if (kind == "json") {
    io::write_file(path, json_text(texts, source));
  } else if (kind == "npy") {
    io::write_npy(path, as_tensor(texts));
  } else if (kind == "html") {
    std::vector<plot::Attention> attention;
    attention.reserve(texts.size());
    for (const AttentionText& text : texts) attention.push_back(text.attention);
    io::write_file(path, plot::attention_html(attention));
  } else {
    std::vector<plot::Picture> pictures;
    pictures.reserve(texts.size());
    for (const AttentionText& text : texts)
      pictures.push_back(picture_of(text.attention));
    write_picture(path, plot::side_by_side(pictures));
  }
}

void check_mark(const plot::Mark& mark, const plot::Attention& a) {
  if (mark.layer < a.first_layer || mark.layer >= a.first_layer + a.layers ||
      mark.head < a.first_head || mark.head >= a.first_head + a.heads)
    fail_input("--mark {}.{}: shown are layers {} to {}, heads {} to {}",
               mark.layer, mark.head, a.first_layer,
               a.first_layer + a.layers - 1, a.first_head,
               a.first_head + a.heads - 1);
}

int run(const Options& options) {
  use_threads(options.threads);
  check_options(options);
  const HeadChoice choice{options.layer, options.head,
                          chosen<inspect::Stage>(options.stage)};
  std::vector<plot::Mark> marks;
  for (const std::string& text : options.marks) marks.push_back(mark_of(text));

  std::vector<AttentionText> texts;
  nlohmann::ordered_json source;
  if (!options.weights.empty()) {
    texts.push_back(read_weights(options.weights, options.tokens,
                                 options.key_tokens, choice));
    source = {{"weights", options.weights}, {"stage", options.stage}};
  } else {
    const Bundle bundle = load_bundle(options.run);
    if (options.steps) {
      const auto ids = fitting_ids(bundle, options.prompts.front());
      const plot::Terminal terminal = this_terminal();
      fmt::print("{}",
                 arithmetic_text(inspect::head_steps(*bundle.model, ids,
                                                     std::max(options.layer, 0),
                                                     std::max(options.head, 0)),
                                 tokens_of(*bundle.tokenizer, ids), terminal));
      return kDone;
    }
    for (const std::string& prompt : options.prompts)
      texts.push_back(read_model(bundle, prompt, choice));
    source = {{"model", bundle.path},
              {"step", bundle.step},
              {"stage", options.stage}};
  }
  for (const plot::Mark& mark : marks)
    check_mark(mark, texts.front().attention);
  for (AttentionText& text : texts) text.attention.marks = marks;

  if (options.json) {
    fmt::print("{}", json_text(texts, source));
  } else if (options.output.empty()) {
    for (const AttentionText& text : texts) {
      if (texts.size() > 1) fmt::print("{}\n", quote(text.attention.title));
      fmt::print("{}", drawn_in_terminal(text.attention));
    }
  } else {
    if (options.all_heads)
      write_every_head(options.output, texts);
    else
      write_output(options.output, texts, source);
    note("wrote " + options.output);
  }
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
          add_run(app, options->run)->required(false);
          CLI::Option* prompt =
              app.add_option("--prompt", options->prompts,
                             "The text; given again, another beside it")
                  ->type_name("TEXT");
          app.add_option("--weights", options->weights,
                         "Draw somebody else's matrices instead: npy of shape "
                         "(T,S), (heads,T,S) or (layers,heads,T,S)")
              ->type_name("FILE.npy");
          app.add_option("--tokens", options->tokens,
                         "Of --weights, the tokens of its rows: one a line, or "
                         "FILE.json with a list")
              ->type_name("FILE");
          app.add_option("--key-tokens", options->key_tokens,
                         "Of --weights, the tokens of its columns, where they "
                         "are not those of its rows")
              ->type_name("FILE");
          app.add_option("--layer", options->layer,
                         "One layer, counted from 0; -1: all")
              ->check(whole_number(-1, kMostHeads))
              ->type_name("N");
          app.add_option("--head", options->head,
                         "One head, counted from 0; -1: all")
              ->check(whole_number(-1, kMostHeads))
              ->type_name("N");
          CLI::Option* stage = choose<inspect::Stage>(app.add_option(
              "--stage", options->stage,
              "raw: q.k; scaled: q.k/sqrt(d); weights: after the softmax"));
          CLI::Option* output =
              app.add_option("-o,--output", options->output,
                             "Write FILE.svg, .png, .html, .json or .npy "
                             "instead of "
                             "drawing in the terminal")
                  ->type_name("FILE");
          CLI::Option* steps = app.add_flag(
              "--steps", options->steps,
              "The arithmetic of one head on real numbers, by default "
              "layer 0, head 0");
          CLI::Option* all_heads =
              app.add_flag("--all-heads", options->all_heads,
                           "A picture for each head, into the folder that -o "
                           "names");
          CLI::Option* mark =
              app.add_option("--mark", options->marks,
                             "Frame a head of the grid: 1.0, or with a name "
                             "1.0=induction; may be given again")
                  ->type_name("L.H");
          for (CLI::Option* several : {prompt, mark})
            several->allow_extra_args(false)->multi_option_policy(
                CLI::MultiOptionPolicy::TakeAll);
          add_threads(app, options->threads);
          CLI::Option* json = app.add_flag("--json", options->json,
                                           "Numbers to standard output");
          json->excludes(output)->excludes(all_heads);
          steps->excludes(stage)->excludes(output)->excludes(json);
          return [options] { return run(*options); };
        },
});

}  // namespace
}  // namespace qkv::cli
