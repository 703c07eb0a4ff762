// How fast single operations are: every benchmark case of tests/cases, forward
// and with its backward, beside what this machine can do at most.
//   kernels_bench [OP…] [--seconds S] [--threads N] [--json]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cli/bench/machine_peak.h"
#include "cli/openmp_wait.h"
#include "core/check.h"
#include "core/json.h"
#include "qkv/autograd.h"
#include "qkv/runtime.h"
#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> ops;
  double seconds = 0.5;  // of each line, three runs at least
  bool json = false;
};

struct Times {
  double median = 0, fastest = 0;  // ms
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Times measure(double wanted, const std::function<void()>& work) {
  for (int i = 0; i < 2; ++i) work();
  std::vector<double> each;
  const auto begin = Clock::now();
  while (each.size() < 3 || seconds_since(begin) < wanted) {
    const auto start = Clock::now();
    work();
    each.push_back(seconds_since(start) * 1e3);
  }
  std::sort(each.begin(), each.end());
  return {each[each.size() / 2], each.front()};
}

// What the machine reaches in this run, a second.
struct Peak {
  double flops = 0, bytes = 0;
};

void print(const OpCase& c, bool backward, const Times& times, const Peak& peak,
           bool json) {
  const double part = backward ? c.with_backward : 1;
  const double seconds = times.median / 1e3;
  const double gflops = part * c.flops / seconds / 1e9;
  const double gb = part * c.bytes / seconds / 1e9;
  const double percent =
      100e9 * (c.flops > 0 ? gflops / peak.flops : gb / peak.bytes);
  const std::string pass = backward ? "with backward" : "forward";
  if (json) {
    const nlohmann::ordered_json line = {
        {"op", c.op},
        {"case", c.label},
        {"pass", pass},
        {"ms", times.median},
        {"ms_min", times.fastest},
        {"gflops", gflops},
        {"gb_per_s", gb},
        {"percent_of_peak", percent},
        {"bound", c.flops > 0 ? "multiply-adds" : "memory"},
        {"threads", runtime::threads()}};
    fmt::print("{}\n", json_line(line));
  } else {
    fmt::print("{:<28}{:<28}{:<15}{:>10.3f}{:>10.3f}{:>8.1f} {:<8}{:>8.1f}\n",
               c.op, c.label, pass, times.median, times.fastest,
               c.flops > 0 ? gflops : gb, c.flops > 0 ? "GFLOP/s" : "GB/s",
               percent);
  }
  std::fflush(stdout);
}

void run_case(const OpCase& c, const Peak& peak, const Options& options) {
  TorchRng rng(1);
  std::vector<Tensor> inputs = c.inputs(DType::f32, rng);
  Tensor gradient;
  {
    const NoGrad no_grad;
    gradient = Tensor::full(c.run(inputs).shape(), 0.5);
    print(c, false, measure(options.seconds, [&] { c.run(inputs); }), peak,
          options.json);
  }
  if (!c.differentiable) return;
  for (Tensor& x : inputs)
    if (is_floating(x.dtype())) x.set_requires_grad();
  const auto step = [&] {
    for (Tensor& x : inputs) x.zero_grad();
    backward_from(c.run(inputs), gradient);
  };
  print(c, true, measure(options.seconds, step), peak, options.json);
}

double number(const std::string& option, const std::string& text) {
  try {
    return std::stod(text);
  } catch (const std::exception&) {
    fail_input("{}: '{}' is not a number", option, text);
  }
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (a == "--json") {
      options.json = true;
    } else if (a == "--seconds" && i + 1 < arguments.size()) {
      options.seconds = number(a, arguments[++i]);
    } else if (a == "--threads" && i + 1 < arguments.size()) {
      runtime::set_threads(static_cast<int>(number(a, arguments[++i])));
    } else {
      const auto& cases = benchmark_cases();
      if (std::none_of(cases.begin(), cases.end(),
                       [&](const OpCase& c) { return c.op == a; }))
        fail_input("there is no operation '{}' to measure", a);
      options.ops.push_back(a);
    }
  }
  return options;
}

void run(const Options& options) {
  const Peak peak{cli::bench::fma_peak(), cli::bench::read_bandwidth()};
  if (!options.json) {
    fmt::print(
        "{}, {}, {} threads: {:.0f} GFLOP/s of f32 multiply-adds, {:.1f} GB/s "
        "read from memory\n% is of the one that bounds the case; what a cache "
        "holds may pass 100.\n\n",
        runtime::cpu_name(), runtime::instruction_set(), runtime::threads(),
        peak.flops / 1e9, peak.bytes / 1e9);
    fmt::print("{:<28}{:<28}{:<15}{:>10}{:>10}{:>8} {:<8}{:>8}\n", "operation",
               "case", "pass", "ms", "fastest", "", "", "% peak");
  }
  for (const OpCase& c : benchmark_cases())
    if (options.ops.empty() || std::find(options.ops.begin(), options.ops.end(),
                                         c.op) != options.ops.end())
      run_case(c, peak, options);
}

}  // namespace
}  // namespace qkv::test

int main(int argc, char** argv) {
  qkv::cli::spin_briefly(argv);
  try {
    qkv::test::run(qkv::test::parse({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernels_bench: {}\n", error.what());
    return 2;
  }
  return 0;
}
