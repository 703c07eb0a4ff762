// qkv bench: how fast whole steps and single operations are on this machine.
#include <fmt/core.h>
#include <sys/resource.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

#include "cli/bench/bench_case.h"
#include "cli/bench/machine_peak.h"
#include "cli/command.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/train_setup.h"
#include "core/check.h"
#include "core/json.h"
#include "core/op_times.h"
#include "qkv/runtime.h"

namespace qkv::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> names;
  std::string seconds = "2s";
  int threads = 0;
  bool json = false, operations = false;
};

struct Measured {
  double ms = 0, ms_min = 0, ms_mean = 0;  // ms: the median of the runs
  std::int64_t runs = 0;
  double peak_bytes = 0;
  std::vector<OpTime> operations;  // of all runs together
};

// The largest resident set of this process since the last call, where Linux
// can forget the one before; else since its start.
double peak_resident() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  double bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) bytes = std::stod(line.substr(6)) * 1024;
  return bytes;
}
void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// At least three runs, for so many seconds, after two that are not counted.
Measured measure(const bench::BenchCase& bench_case, double wanted,
                 bench::Work& work) {
  runtime::release_cached_memory();
  forget_peak();
  work = bench_case.make();
  work.run();
  if (caught_signal() == 0) work.run();
  Measured found;
  OpTimes times;
  std::vector<double> each;
  const auto begin = Clock::now();
  while (caught_signal() == 0 &&
         (each.size() < 3 || seconds_since(begin) < wanted)) {
    const auto start = Clock::now();
    times.restart();
    work.run();
    each.push_back(seconds_since(start) * 1e3);
  }
  if (each.empty()) return found;
  std::sort(each.begin(), each.end());
  for (const double ms : each)
    found.ms_mean += ms / static_cast<double>(each.size());
  found.ms = each[each.size() / 2];
  found.ms_min = each.front();
  found.runs = static_cast<std::int64_t>(each.size());
  found.peak_bytes = peak_resident();
  found.operations = times.times();
  return found;
}

// What the machine reaches at most, in the same minute.
struct Peak {
  double flops = 0, bytes = 0;  // a second
};

void print_heading(const Peak& peak) {
  fmt::print(
      "{}, {}, {} threads: {:.0f} GFLOP/s of f32 multiply-adds, {:.1f} "
      "GB/s read from memory\n\n",
      runtime::cpu_name(), runtime::instruction_set(), runtime::threads(),
      peak.flops / 1e9, peak.bytes / 1e9);
  fmt::print("{:<42}{:>10}{:>10}{:>11}{:>9}{:>8}{:>10}\n", "case", "ms",
             "fastest", "tokens/s", "GFLOP/s", "% peak", "memory");
}

// Of the peak that bounds the work.
double percent(const bench::Work& work, double ms, const Peak& peak) {
  return work.bytes > 0 ? 100 * work.bytes / (ms / 1e3) / peak.bytes
                        : 100 * work.flops / (ms / 1e3) / peak.flops;
}

// The mean time by operation. The first one has drawn the batch as well; the
// rest is the gradients' norm, the optimizer, and what no tape sees.
void print_operations(const Measured& m) {
  auto sorted = m.operations;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  const auto runs = static_cast<double>(m.runs);
  double rest = m.ms_mean;
  for (const OpTime& time : sorted) {
    const double ms = time.seconds * 1e3 / runs;
    rest -= ms;
    fmt::print("  {:<24}{:<12}{:>10.3f} ms{:>7.1f} %{:>8.0f} calls\n", time.op,
               time.backward ? "backward" : "forward", ms, 100 * ms / m.ms_mean,
               static_cast<double>(time.calls) / runs);
  }
  fmt::print("  {:<36}{:>10.3f} ms{:>7.1f} %\n", "the rest", rest,
             100 * rest / m.ms_mean);
}

void print(const bench::BenchCase& c, const bench::Work& work,
           const Measured& m, const Peak& peak) {
  const auto or_dash = [](bool there, const std::string& text) {
    return there ? text : std::string("-");
  };
  fmt::print(
      "{:<42}{:>10.3f}{:>10.3f}{:>11}{:>9}{:>8.1f}{:>10}\n", c.name, m.ms,
      m.ms_min,
      or_dash(work.tokens > 0,
              with_commas(static_cast<std::int64_t>(work.tokens / m.ms * 1e3))),
      or_dash(work.flops > 0, fmt::format("{:.1f}", work.flops / m.ms / 1e6)),
      percent(work, m.ms, peak), bytes_text(m.peak_bytes));
}

void print_json(const bench::BenchCase& c, const bench::Work& work,
                const Measured& m, const Peak& peak) {
  nlohmann::ordered_json out = {
      {"case", c.name},
      {"ms", m.ms},
      {"ms_min", m.ms_min},
      {"tokens_per_s", work.tokens / m.ms * 1e3},
      {"gflops", work.flops / m.ms / 1e6},
      {"percent_of_peak", percent(work, m.ms, peak)},
      {"peak_rss_mb", m.peak_bytes / (1 << 20)},
      {"threads", runtime::threads()},
      {"runs", m.runs},
      {"bound", work.bytes > 0 ? "memory" : "multiply-adds"},
      {"machine_gflops", peak.flops / 1e9},
      {"machine_gb_per_s", peak.bytes / 1e9}};
  for (const OpTime& time : m.operations)
    out["operations_ms"]
       [std::string(time.op) + (time.backward ? ".backward" : "")] =
           time.seconds * 1e3 / static_cast<double>(m.runs);
  fmt::print("{}\n", json_line(out));
}

std::vector<const bench::BenchCase*> chosen_cases(const Options& options) {
  std::vector<const bench::BenchCase*> chosen;
  std::vector<std::string> known{"all"};
  for (const auto& c : bench::bench_cases()) known.push_back(c.name);
  for (const std::string& name : options.names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail_input("there is no case '{}'{}; qkv bench lists them", name,
                 did_you_mean(name, known));
    for (const auto& c : bench::bench_cases())
      if (name == "all" || name == c.name) chosen.push_back(&c);
  }
  return chosen;
}

int run(const Options& options) {
  use_threads(options.threads);
  const auto chosen = chosen_cases(options);
  if (chosen.empty()) {
    for (const auto& c : bench::bench_cases())
      fmt::print("{:<42} {}\n", c.name, c.about);
    return kDone;
  }
  const double wanted = parse_duration(options.seconds, "--seconds");
  catch_signals();
  const Peak peak{bench::fma_peak(), bench::read_bandwidth()};
  if (!options.json) print_heading(peak);
  for (const bench::BenchCase* c : chosen) {
    bench::Work work;
    const Measured measured = measure(*c, wanted, work);
    if (caught_signal() != 0) return 128 + caught_signal();
    (options.json ? print_json : print)(*c, work, measured, peak);
    if (options.operations && !options.json) print_operations(measured);
    flush_output();
  }
  return kDone;
}

const RegisterCommand kBench({
    .name = "bench",
    .purpose = Purpose::look,
    .help = "Measure steps and operations on this machine",
    .examples = {{"What there is to measure", "qkv bench"},
                 {"A training step of a small GPT, by operation",
                  "qkv bench makemore --seconds 1s --operations"}},
    .about =
        "% peak is of the f32 multiply-adds or of the memory bandwidth (of "
        "reading: what writes too may pass 100) that this machine reaches in "
        "the same run, whichever bounds the case. Operations are counted by "
        "the model, 6 per parameter of a matrix product and token, attention "
        "on the visible half; what is computed again earns nothing.",
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          app.add_option("NAME", options->names,
                         "Cases to measure, or all; none: a list of them")
              ->type_name("NAME");
          app.add_option("--seconds", options->seconds,
                         "Time of each case, three runs at least: 2s, 1m")
              ->type_name("TIME");
          app.add_flag("--operations", options->operations,
                       "Also the time by operation");
          add_threads(app, options->threads);
          app.add_flag("--json", options->json, "A JSON object a case");
          return [options] { return run(*options); };
        },
    .computes = true,
});

}  // namespace
}  // namespace qkv::cli
