// The experiments of `qkv lab`: one file each, registered by one static.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "qkv/plot.h"

namespace qkv::cli::lab {

struct Table {
  std::string title;  // may be empty where there is one table
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct NamedPicture {
  std::string name;  // of the file: EXPERIMENT-name; empty: EXPERIMENT
  plot::Picture picture;
};

// What an experiment found: tables, pictures, and what to see in them.
struct Report {
  std::vector<Table> tables;
  std::vector<NamedPicture> pictures;
  std::string see;
};

// Thrown by Lab when Ctrl-C or SIGTERM came.
struct Interrupted {};

// What an experiment runs in.
class Lab {
 public:
  explicit Lab(bool quick) : quick_(quick) {}

  bool quick() const { return quick_; }
  // How many steps to train where the experiment wants so many: a twentieth,
  // but one at least, when it shall be quick.
  std::int64_t steps(std::int64_t wanted) const;
  // Tells on stderr what is computed now; to be called now and then, since it
  // is where an interrupt ends the experiment.
  void doing(const std::string& what) const;
  // The same without a word, within a training.
  void check() const;

 private:
  bool quick_;
};

struct Experiment {
  std::string name;
  std::string question;  // one line
  std::function<Report(const Lab&)> run;
};

// All of them, by name.
const std::vector<Experiment>& experiments();

struct RegisterExperiment {
  explicit RegisterExperiment(Experiment experiment);
};

// A table with aligned columns; numbers to the right.
std::string table_text(const Table& table);

}  // namespace qkv::cli::lab
