#include "cli/bench/bench_case.h"

#include <algorithm>
#include <iterator>

namespace qkv::cli::bench {
namespace {
std::vector<BenchCase>& registered() {
  static std::vector<BenchCase> all;
  return all;
}
}  // namespace

const std::vector<BenchCase>& bench_cases() { return registered(); }

RegisterBench::RegisterBench(std::vector<BenchCase> cases) {
  std::move(cases.begin(), cases.end(), std::back_inserter(registered()));
}

}  // namespace qkv::cli::bench
