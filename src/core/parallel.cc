#include "core/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>

#include "core/check.h"
#include "core/cpu.h"
#include "qkv/runtime.h"

namespace qkv {
namespace {

std::atomic<int> g_threads{0};                  // 0: not chosen yet
std::atomic<const char*> g_threads_reason{""};  // of the same time
constexpr int kMostThreads = 1024;

// This thread's number in the region that runs, 0 outside. OpenMP's own number
// would not do: the caller may be inside a larger region of its own.
thread_local int t_worker = 0;

// The failure of the lowest block, so that the same error is thrown whatever
// the thread count.
struct Failure {
  std::mutex mutex;
  std::atomic<std::int64_t> block{std::numeric_limits<std::int64_t>::max()};
  std::exception_ptr exception;

  void record(std::int64_t failed) {
    std::lock_guard lock(mutex);
    if (failed >= block) return;
    block = failed;
    exception = std::current_exception();
  }
};

}  // namespace

namespace runtime {

void set_threads(int n) {
  if (n < 1 || n > kMostThreads)
    fail_input("threads must be 1 to {}, not {}", kMostThreads, n);
  g_threads_reason = "asked for";
  g_threads = n;
}

namespace {

CpuCount default_threads() {
  // What the user of every OpenMP program may say.
  const char* text = std::getenv("OMP_NUM_THREADS");
  const int n = text ? std::atoi(text) : 0;
  if (n > 0) return {std::min(n, kMostThreads), "OMP_NUM_THREADS"};
  return usable_cpus();
}

}  // namespace

int threads() {
  int n = g_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    const CpuCount found = default_threads();
    g_threads_reason = found.reason.data();
    g_threads = n = found.cpus;
  }
  return n;
}

std::string threads_reason() {
  threads();  // chosen by now
  return g_threads_reason.load();
}

}  // namespace runtime

int worker_count() { return runtime::threads(); }
int free_workers() { return omp_in_parallel() ? 1 : runtime::threads(); }

void parallel_for_worker(std::int64_t blocks,
                         FunctionRef<void(std::int64_t, int)> body,
                         Schedule schedule) {
  const int workers =
      static_cast<int>(std::min<std::int64_t>(blocks, runtime::threads()));
  if (workers <= 1 || omp_in_parallel()) {
    for (std::int64_t block = 0; block < blocks; ++block) body(block, t_worker);
    return;
  }
  Failure failure;
  auto guarded = [&](std::int64_t block, int worker) {
    if (block > failure.block.load(std::memory_order_relaxed)) return;
    try {
      body(block, worker);
    } catch (...) {
      failure.record(block);
    }
  };
  std::atomic<std::int64_t> next{0};
  const runtime::Path path = runtime::path();  // of this thread: its helpers'
#pragma omp parallel num_threads(workers)
  {
    const runtime::UsePath use(path);
    const int worker = omp_get_thread_num();
    t_worker = worker;
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
    t_worker = 0;
  }
  if (failure.exception) std::rethrow_exception(failure.exception);
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
