// The cases of `qkv bench`: registered by one static a group.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace qkv::cli::bench {

// Something made ready to be run many times.
struct Work {
  std::function<void()> run;
  double flops = 0;   // by the model's own count, as qkv bench --help tells
  double bytes = 0;   // that have to cross the memory bus; 0: not the bound
  double tokens = 0;  // trained on; 0: none
};

struct BenchCase {
  std::string name;   // "makemore"
  std::string about;  // one line
  std::function<Work()> make;
};

// All of them, in order of registration.
const std::vector<BenchCase>& bench_cases();

struct RegisterBench {
  explicit RegisterBench(std::vector<BenchCase> cases);
};

}  // namespace qkv::cli::bench
