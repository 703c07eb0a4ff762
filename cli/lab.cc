// qkv lab: the experiments behind the claims.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>

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
  bool json = false, quick = false;
};

void print(const lab::Experiment& experiment, const lab::Report& report) {
  fmt::print("{}: {}\n", experiment.name, experiment.question);
  for (const lab::Table& table : report.tables)
    fmt::print("\n{}", lab::table_text(table));
  fmt::print("\n");
  for (const std::string& line : wrap(report.see, 80)) fmt::print("{}\n", line);
}

void print_json(const lab::Experiment& experiment, const lab::Report& report) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  for (const lab::Table& table : report.tables)
    tables.push_back({{"title", table.title},
                      {"columns", table.columns},
                      {"rows", table.rows}});
  fmt::print("{}\n",
             json_line(nlohmann::ordered_json{{"experiment", experiment.name},
                                              {"question", experiment.question},
                                              {"tables", tables},
                                              {"see", report.see}}));
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_io("{}: cannot be made: {}", folder, error.message());
}

void write_pictures(const lab::Experiment& experiment,
                    const lab::Report& report, const std::string& folder) {
  for (const lab::NamedPicture& drawn : report.pictures) {
    const std::string name =
        experiment.name + (drawn.name.empty() ? "" : "-" + drawn.name) + ".svg";
    const std::string path = (fs::path(folder) / name).string();
    write_picture(path, drawn.picture);
    note("wrote " + path);
  }
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
  const lab::Lab lab(options.quick);
  if (!options.out.empty()) make_folder(options.out);
  bool first = true;
  for (const auto& experiment : lab::experiments()) {
    if (options.name != "all" && options.name != experiment.name) continue;
    lab::Report report;
    try {
      report = experiment.run(lab);
      lab.check();
    } catch (const lab::Interrupted&) {
      return 128 + caught_signal();
    }
    if (!options.json && !first) fmt::print("\n");
    first = false;
    (options.json ? print_json : print)(experiment, report);
    flush_output();
    if (!options.out.empty()) write_pictures(experiment, report, options.out);
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
                         "Folder for the pictures: NAME.svg, NAME-what.svg")
              ->type_name("DIR");
          app.add_flag("--quick", options->quick,
                       "A twentieth of the training: how it runs, not what "
                       "comes out");
          add_threads(app, options->threads);
          app.add_flag("--json", options->json, "A JSON object an experiment");
          return [options] { return run(*options); };
        },
    .computes = true,
});

}  // namespace
}  // namespace qkv::cli
