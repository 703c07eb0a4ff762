// The experiments of `qkv lab`: one file each, registered by one static.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qkv/plot.h"

namespace qkv::cli::lab {

// What an experiment found: a table, a picture, and what to see in them.
struct Report {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::optional<plot::Curves> curves;
  std::string see;
};

struct Experiment {
  std::string name;
  std::string question;  // one line
  std::function<Report()> run;
};

// All of them, by name.
const std::vector<Experiment>& experiments();

struct RegisterExperiment {
  explicit RegisterExperiment(Experiment experiment);
};

// The table with aligned columns; numbers to the right.
std::string table_text(const Report& report);

}  // namespace qkv::cli::lab
