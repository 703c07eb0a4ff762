#include "cli/lab/experiment.h"

#include <algorithm>
#include <cctype>

#include "cli/signals.h"
#include "cli/terminal.h"

namespace qkv::cli::lab {
namespace {

std::vector<Experiment>& registered() {
  static std::vector<Experiment> all;
  return all;
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

RegisterExperiment::RegisterExperiment(Experiment experiment) {
  registered().push_back(std::move(experiment));
}

const std::vector<Experiment>& experiments() {
  std::sort(registered().begin(), registered().end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return registered();
}

std::int64_t Lab::steps(std::int64_t wanted) const {
  return quick_ ? std::max<std::int64_t>(wanted / 20, 1) : wanted;
}

void Lab::doing(const std::string& what) const {
  check();
  note(what);
}

void Lab::check() const {
  if (caught_signal() != 0) throw Interrupted{};
}

std::string table_text(const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    widths.push_back(width_of(table.columns[c]));
    for (const auto& row : table.rows)
      widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::string out = table.title.empty() ? "" : table.title + "\n";
  const auto write = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string room(widths[c] - width_of(row[c]), ' ');
      // The first column names the row.
      line += c == 0 ? row[c] + room : "  " + room + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  write(table.columns);
  for (const auto& row : table.rows) write(row);
  return out;
}

}  // namespace qkv::cli::lab
