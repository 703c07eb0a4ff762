// qkv lab: the experiments behind the claims.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/lab/experiment.h"
#include "cli/picture_file.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "core/fields_json.h"
#include "core/json.h"

namespace qkv::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string name, out;
  int threads = 0;
  bool json = false;
};

void print(const lab::Experiment& experiment, const lab::Report& report) {
  fmt::print("{}: {}\n\n{}\n", experiment.name, experiment.question,
             lab::table_text(report));
  for (const std::string& line : wrap(report.see, 80)) fmt::print("{}\n", line);
}

void print_json(const lab::Experiment& experiment, const lab::Report& report) {
  fmt::print("{}\n",
             json_line(nlohmann::ordered_json{{"experiment", experiment.name},
                                              {"question", experiment.question},
                                              {"columns", report.columns},
                                              {"rows", report.rows},
                                              {"see", report.see}}));
}

int run(const Options& options) {
  use_threads(options.threads);
  catch_signals();
  if (options.name.empty()) {
    for (const auto& experiment : lab::experiments())
      fmt::print("{:<12} {}\n", experiment.name, experiment.question);
    return kDone;
  }
  std::vector<std::string> names{"all"};
  for (const auto& experiment : lab::experiments())
    names.push_back(experiment.name);
  if (std::find(names.begin(), names.end(), options.name) == names.end())
    fail_input("there is no experiment '{}'{}; qkv lab lists them",
               options.name, did_you_mean(options.name, names));
  bool first = true;
  for (const auto& experiment : lab::experiments()) {
    if (options.name != "all" && options.name != experiment.name) continue;
    const lab::Report report = experiment.run();
    if (caught_signal() != 0) return 128 + caught_signal();
    if (!options.json && !first) fmt::print("\n");
    first = false;
    (options.json ? print_json : print)(experiment, report);
    if (options.out.empty() || !report.curves) continue;
    std::error_code error;
    fs::create_directories(options.out, error);
    if (error) fail_io("{}: cannot be made: {}", options.out, error.message());
    const std::string path =
        (fs::path(options.out) / (experiment.name + ".svg")).string();
    write_picture(path, plot::draw_curves(*report.curves));
    note("wrote " + path);
  }
  return kDone;
}

const RegisterCommand kLab({
    .name = "lab",
    .purpose = Purpose::look,
    .help = "Run an experiment behind a claim: a table and what to see in it",
    .examples = {{"What there is", "qkv lab"},
                 {"Why scores are divided by the root of the width",
                  "qkv lab scaling --out lab"}},
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          app.add_option("NAME", options->name,
                         "The experiment, or all; none: a list of them")
              ->type_name("NAME");
          app.add_option("--out", options->out,
                         "Folder for a picture of each, NAME.svg")
              ->type_name("DIR");
          add_threads(app, options->threads);
          app.add_flag("--json", options->json, "A JSON object an experiment");
          return [options] { return run(*options); };
        },
});

}  // namespace
}  // namespace qkv::cli
