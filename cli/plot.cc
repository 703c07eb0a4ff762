// qkv plot: curves of runs over each other, and heads over the course of one.
#include "qkv/plot.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>

#include "cli/attention_snapshots.h"
#include "cli/command.h"
#include "cli/course_pictures.h"
#include "cli/loss_plot.h"
#include "cli/picture_file.h"
#include "cli/run_folder.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "plot/series.h"
#include "qkv/plot_course.h"

namespace qkv::cli {
namespace {

struct Options {
  std::vector<std::string> runs;
  std::string output;
  bool train = false, log_x = false, film = false;
  bool counts = false, embedding = false;
  int layer = -1, head = -1, frames = 8;
};

// The folders' own names, longer where two are alike.
std::vector<std::string> names_of(const std::vector<std::string>& runs) {
  std::vector<std::string> names;
  names.reserve(runs.size());
  for (const std::string& run : runs) names.push_back(run_name(run));
  std::vector<std::string> unique = names;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::count(names.begin(), names.end(), names[i]) > 1)
      unique[i] = runs[i];
  return unique;
}

std::vector<plot::Point> training_line(const plot::LossCurve& curve) {
  return plot::smoothed(
      curve.train, std::max<int>(1, static_cast<int>(curve.train.size()) / 50));
}

// Validation where every run has it, else the smoothed training loss.
plot::Curves compared(const std::vector<plot::LossCurve>& runs,
                      const std::vector<std::string>& names,
                      const Options& options) {
  const bool validation =
      !options.train &&
      std::all_of(runs.begin(), runs.end(),
                  [](const auto& r) { return r.validation.size() > 1; });
  plot::Curves curves;
  curves.log_x = options.log_x;
  if (runs.size() == 1) {
    curves.title = names.front();
    curves.series.push_back({"train", training_line(runs.front())});
    if (!runs.front().validation.empty())
      curves.series.push_back({"validation", runs.front().validation});
    curves.levels = runs.front().levels;
    return curves;
  }
  curves.y_name = validation ? "validation loss, nats per token"
                             : "training loss, nats per token, averaged";
  curves.about = "loss of training runs:";
  bool one_level = true;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    curves.title += (i > 0 ? ", " : "") + names[i];
    curves.about += " " + options.runs[i];
    curves.series.push_back(
        {names[i], validation ? runs[i].validation : training_line(runs[i])});
    one_level =
        one_level && runs[i].levels.front().y == runs[0].levels.front().y;
  }
  // Runs over other tokens guess another loss: their levels would mislead.
  if (one_level) curves.levels = runs.front().levels;
  return curves;
}

// --film, --counts and --embedding: pictures of one run, into a file.
const char* picture_of_one(const Options& options) {
  return options.film        ? "--film"
         : options.counts    ? "--counts"
         : options.embedding ? "--embedding"
                             : nullptr;
}

void check(const Options& options) {
  const std::string kind = extension_of(options.output);
  if (!options.output.empty() && !is_picture(kind))
    fail_input("-o must end in .svg or .png, not '{}'", options.output);
  if (!options.film && (options.layer >= 0 || options.head >= 0))
    fail_input("--layer and --head go with --film");
  const char* one = picture_of_one(options);
  if (!one) return;
  if (options.film + options.counts + options.embedding > 1)
    fail_input("--film, --counts and --embedding are pictures each of its own");
  if (options.train || options.log_x)
    fail_input("--train and --log-x go with curves, not with {}", one);
  if (options.runs.size() > 1)
    fail_input("{} shows one run, not {}", one, options.runs.size());
  if (options.output.empty())
    fail_input("{} needs a file: -o FILE.svg or -o FILE.png", one);
}

plot::Picture draw_one(const Options& options) {
  const std::string& run = options.runs.front();
  if (options.film)
    return plot::attention_grid(
        read_film(run, options.layer, options.head, options.frames));
  const Bundle bundle = load_bundle(run);
  if (options.counts)
    return plot::draw_pair_counts(pair_counts_of(bundle, run_name(run)));
  return plot::draw_scatter(embedding_of(bundle, run_name(run)));
}

int run(const Options& options) {
  check(options);
  if (picture_of_one(options)) {
    write_picture(options.output, draw_one(options));
  } else {
    std::vector<plot::LossCurve> runs;
    for (const std::string& run : options.runs) {
      runs.push_back(loss_curve_of(run));
      runs.back().log_x = options.log_x;
      if (runs.back().train.empty() && runs.back().validation.empty())
        fail_input("{}: its log holds no loss yet", run);
    }
    const auto curves = compared(runs, names_of(options.runs), options);
    if (options.output.empty())
      fmt::print("{}", plot::curves_text(curves, this_terminal()));
    else
      write_picture(options.output, runs.size() == 1
                                        ? plot::loss_curve(runs.front())
                                        : plot::draw_curves(curves));
  }
  if (!options.output.empty()) note("wrote " + options.output);
  return kDone;
}

const RegisterCommand kPlot({
    .name = "plot",
    .purpose = Purpose::look,
    .help = "Draw the loss of runs over each other, or heads while they form",
    .examples = {{"The loss of a run, in the terminal", "qkv plot runs/words"},
                 {"Two runs compared, as a picture",
                  "qkv plot runs/words runs/names -o compared.svg"},
                 {"What the heads of a run looked at, step by step",
                  "qkv plot runs/words --film -o film.png"},
                 {"Which letter follows which, of --model counts",
                  "qkv plot runs/counts --counts -o counts.svg"},
                 {"Where the letters lie",
                  "qkv plot runs/words --embedding -o letters.svg"}},
    .about = "Several runs are compared by their validation loss, or by the "
             "averaged training loss where one has none.\n"
             "--film needs a run that was trained with --snapshot-attention; "
             "--embedding draws two dimensions as they are, and of more their "
             "two principal components.",
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          app.add_option("RUN", options->runs, "Folders of training runs")
              ->required()
              ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
              ->type_name("RUN");
          app.add_option("-o,--output", options->output,
                         "Write FILE.svg or FILE.png instead of drawing in the "
                         "terminal")
              ->type_name("FILE");
          app.add_flag("--train", options->train,
                       "Compare training loss, also where there is validation");
          app.add_flag("--log-x", options->log_x,
                       "Steps on a logarithmic axis");
          app.add_flag("--film", options->film,
                       "The heads of one run at several steps, side by side");
          app.add_flag("--counts", options->counts,
                       "How often each token followed each other one, as "
                       "--model counts counted it");
          app.add_flag("--embedding", options->embedding,
                       "Where the tokens lie in the embedding of one run");
          app.add_option("--layer", options->layer,
                         "Of the film, one layer, counted from 0; -1: all")
              ->check(whole_number(-1, kMostHeads))
              ->type_name("N");
          app.add_option("--head", options->head,
                         "Of the film, one head, counted from 0; -1: all")
              ->check(whole_number(-1, kMostHeads))
              ->type_name("N");
          app.add_option("--frames", options->frames,
                         "Of the film, how many steps at most")
              ->check(whole_number(1, 100))
              ->type_name("N");
          return [options] { return run(*options); };
        },
});

}  // namespace
}  // namespace qkv::cli
