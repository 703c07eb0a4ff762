#include "core/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "core/check.h"
#include "core/cpu.h"
#include "qkv/runtime.h"

namespace qkv {
namespace {

std::atomic<int> g_threads{0};  // 0: not chosen yet

}  // namespace

namespace runtime {

void set_threads(int n) {
  if (n < 1) fail_input("threads must be at least 1, not {}", n);
  g_threads = n;
}

int threads() {
  int n = g_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    n = usable_cpus();
    g_threads = n;
  }
  return n;
}

}  // namespace runtime

int worker_count() { return runtime::threads(); }

void parallel_for_worker(std::int64_t blocks,
                         FunctionRef<void(std::int64_t, int)> body,
                         Schedule schedule) {
  const int workers =
      static_cast<int>(std::min<std::int64_t>(blocks, runtime::threads()));
  if (workers <= 1 || omp_in_parallel()) {
    const int worker = omp_in_parallel() ? omp_get_thread_num() : 0;
    for (std::int64_t block = 0; block < blocks; ++block) body(block, worker);
    return;
  }
  std::exception_ptr failure;
  std::atomic<bool> failed{false};
  auto guarded = [&](std::int64_t block, int worker) {
    if (failed.load(std::memory_order_relaxed)) return;
    try {
      body(block, worker);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  std::atomic<std::int64_t> next{0};
#pragma omp parallel num_threads(workers)
  {
    const int worker = omp_get_thread_num();
    if (schedule == Schedule::dynamic) {
      for (std::int64_t block = next++; block < blocks; block = next++)
        guarded(block, worker);
    } else {
      const int team = omp_get_num_threads();
      const std::int64_t begin = blocks * worker / team;
      const std::int64_t end = blocks * (worker + 1) / team;
      for (std::int64_t block = begin; block < end; ++block)
        guarded(block, worker);
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void parallel_for(std::int64_t blocks, FunctionRef<void(std::int64_t)> body,
                  Schedule schedule) {
  parallel_for_worker(
      blocks, [&](std::int64_t block, int) { body(block); }, schedule);
}

void parallel_ranges(std::int64_t n, std::int64_t grain,
                     FunctionRef<void(std::int64_t, std::int64_t)> body) {
  parallel_for((n + grain - 1) / grain, [&](std::int64_t block) {
    body(block * grain, std::min(n, (block + 1) * grain));
  });
}

}  // namespace qkv
