#include "cli/bench/machine_peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "core/parallel.h"
#include "kernels/peak/peak.h"

namespace qkv::cli::bench {
namespace {

constexpr int kTries = 12;

// The highest amount/seconds of some tries of `work` on every thread, which
// returns what it did.
template <class Work>
double best_rate(Work work) {
  using Clock = std::chrono::steady_clock;
  const int threads = worker_count();
  std::vector<double> amounts(static_cast<std::size_t>(threads));
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto begin = Clock::now();
    parallel_for(threads, [&](std::int64_t t) { amounts[t] = work(t); });
    const double seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
    double sum = 0;
    for (const double amount : amounts) sum += amount;
    best = std::max(best, sum / seconds);
  }
  return best;
}

}  // namespace

double fma_peak() {
  return best_rate([](std::int64_t) {
    [[maybe_unused]] volatile float kept = 0;
    float sink = 0;
    const double done = kernels::multiply_adds(1 << 21, &sink);
    kept = sink;
    return done;
  });
}

double read_bandwidth() {
  // Together more than a core's own caches hold and less than a small machine's
  // memory; a last-level cache that a server lends to many shows as bandwidth.
  constexpr std::int64_t kTotal = std::int64_t{1} << 27;  // 512 MiB
  const int threads = worker_count();
  const std::int64_t each = kTotal / threads;
  std::vector<std::vector<float>> parts(static_cast<std::size_t>(threads));
  parallel_for(threads, [&](std::int64_t t) {
    parts[t].assign(static_cast<std::size_t>(each), 1.0F);
  });
  return best_rate([&](std::int64_t t) {
    [[maybe_unused]] volatile float kept = 0;
    kept = kernels::sum_of(parts[t].data(), each);
    return 4.0 * static_cast<double>(each);
  });
}

}  // namespace qkv::cli::bench
