#include "core/parallel.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "qkv/error.h"
#include "qkv/runtime.h"

namespace qkv {
namespace {

// Sets the thread count for one test.
class Threads {
 public:
  explicit Threads(int n) : before_(runtime::threads()) {
    runtime::set_threads(n);
  }
  ~Threads() { runtime::set_threads(before_); }

 private:
  int before_;
};

constexpr Schedule kSchedules[] = {Schedule::even, Schedule::dynamic};

TEST(Parallel, RunsEveryBlockOnce) {
  for (int threads : {1, 2, 3, 8, 64})
    for (Schedule schedule : kSchedules)
      for (std::int64_t blocks : {0, 1, 2, 5, 64, 1000}) {
        Threads set(threads);
        std::vector<std::atomic<int>> runs(blocks);
        parallel_for(
            blocks, [&](std::int64_t i) { ++runs[i]; }, schedule);
        for (auto& count : runs) ASSERT_EQ(count, 1);
      }
}

TEST(Parallel, WorkersHaveNumbersBelowTheirCount) {
  for (Schedule schedule : kSchedules) {
    Threads set(3);
    EXPECT_EQ(worker_count(), 3);
    // Two blocks at once never share a worker's number.
    std::vector<std::atomic<int>> busy(3);
    parallel_for_worker(
        300,
        [&](std::int64_t, int worker) {
          if (worker < 0 || worker >= 3) throw std::out_of_range("worker");
          if (busy[worker]++ != 0) throw std::logic_error("shared");
          --busy[worker];
        },
        schedule);
  }
}

TEST(Parallel, EvenSharesAreInOrder) {
  Threads set(2);
  std::vector<int> owner(10, -1);
  parallel_for_worker(10,
                      [&](std::int64_t i, int worker) { owner[i] = worker; });
  for (int i = 1; i < 10; ++i) EXPECT_GE(owner[i], owner[i - 1]);
}

// Block 0 waits for the others: a fixed split would leave blocks of its own
// share waiting behind it.
TEST(Parallel, DynamicBlocksGoToWhoeverIsFree) {
  Threads set(2);
  std::atomic<int> done{0};
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  parallel_for(
      10,
      [&](std::int64_t i) {
        if (i == 0)
          while (done < 9) {
            if (std::chrono::steady_clock::now() > deadline)
              throw std::runtime_error("the other blocks did not run");
            std::this_thread::yield();
          }
        ++done;
      },
      Schedule::dynamic);
  EXPECT_EQ(done, 10);
}

TEST(Parallel, ThrowsTheLowestBlocksException) {
  for (int threads : {1, 2, 8})
    for (Schedule schedule : kSchedules)
      for (int round = 0; round < 20; ++round) {
        Threads set(threads);
        try {
          parallel_for(
              100,
              [&](std::int64_t i) {
                if (i >= 37 && i % 2 == 1)
                  throw std::runtime_error(std::to_string(i));
              },
              schedule);
          FAIL();
        } catch (const std::runtime_error& error) {
          ASSERT_STREQ(error.what(), "37");
        }
        // And the pool works on.
        std::atomic<int> runs{0};
        parallel_for(
            50, [&](std::int64_t) { ++runs; }, schedule);
        ASSERT_EQ(runs, 50);
      }
}

TEST(Parallel, ANestedRegionRunsOnItsWorkersThread) {
  Threads set(2);
  std::atomic<int> runs{0};
  parallel_for_worker(4, [&](std::int64_t, int outer) {
    const auto thread = std::this_thread::get_id();
    parallel_for_worker(5, [&](std::int64_t, int inner) {
      if (std::this_thread::get_id() != thread || inner != outer)
        throw std::logic_error("moved");
      ++runs;
    });
  });
  EXPECT_EQ(runs, 20);
  // Afterwards this thread is worker 0 of nothing.
  parallel_for_worker(1,
                      [&](std::int64_t, int worker) { EXPECT_EQ(worker, 0); });
}

TEST(Parallel, ANestedExceptionReachesTheCaller) {
  Threads set(2);
  EXPECT_THROW(parallel_for(4,
                            [&](std::int64_t i) {
                              parallel_for(3, [&](std::int64_t j) {
                                if (i == 2 && j == 1)
                                  throw std::runtime_error("inner");
                              });
                            }),
               std::runtime_error);
}

// A host program may call from a region of its own, larger than ours.
TEST(Parallel, InsideAForeignRegionWorkersStayInRange) {
  Threads set(2);
  std::atomic<int> out_of_range{0}, runs{0};
#pragma omp parallel num_threads(6)
  parallel_for_worker(10, [&](std::int64_t, int worker) {
    if (worker < 0 || worker >= worker_count()) ++out_of_range;
    ++runs;
  });
  EXPECT_EQ(out_of_range, 0);
  EXPECT_EQ(runs, 60);
}

TEST(Parallel, SeveralThreadsMayCallAtOnce) {
  Threads set(2);
  std::atomic<int> runs{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        parallel_for(20, [&](std::int64_t) { ++runs; });
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(runs, 4 * 50 * 20);
}

TEST(Parallel, RangesCoverAllAndEndShort) {
  Threads set(2);
  for (std::int64_t n : {0, 1, 9, 10, 11, 95}) {
    std::mutex mutex;
    std::set<std::pair<std::int64_t, std::int64_t>> ranges;
    parallel_ranges(n, 10, [&](std::int64_t begin, std::int64_t end) {
      std::lock_guard lock(mutex);
      ranges.insert({begin, end});
    });
    std::int64_t at = 0;
    for (auto [begin, end] : ranges) {
      EXPECT_EQ(begin, at);
      EXPECT_EQ(end, std::min(n, begin + 10));
      at = end;
    }
    EXPECT_EQ(at, n);
  }
}

// The way results stay the same: partial sums by block, added in order.
TEST(Parallel, SumsByBlockAreBitEqualForAnyThreadCount) {
  const std::int64_t n = 100003, grain = 1000;
  std::vector<float> x(n);
  for (std::int64_t i = 0; i < n; ++i)
    x[i] = 1.0f / static_cast<float>(i % 977 + 1);
  std::vector<float> sums;
  for (int threads : {1, 2, 3, 8}) {
    Threads set(threads);
    std::vector<float> partial((n + grain - 1) / grain, 0.0f);
    parallel_ranges(n, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) partial[begin / grain] += x[i];
    });
    float sum = 0;
    for (float p : partial) sum += p;
    sums.push_back(sum);
  }
  for (float sum : sums) EXPECT_EQ(sum, sums[0]);
}

// A kernel asks for the path inside its blocks.
TEST(Parallel, WorkersTakeThePathOfTheirCallerAndGiveItBack) {
  Threads set(3);
  std::atomic<int> same{0};
  {
    runtime::UsePath use(runtime::Path::reference);
    parallel_for(300, [&](std::int64_t) {
      same += runtime::path() == runtime::Path::reference;
    });
  }
  EXPECT_EQ(same, 300);
  parallel_for(300, [&](std::int64_t) {
    same += runtime::path() == runtime::Path::automatic;
  });
  EXPECT_EQ(same, 600);
}

TEST(Parallel, ANumberThatWasAskedForSaysSo) {
  const Threads two(2);
  EXPECT_EQ(runtime::threads_reason(), "asked for");
}

TEST(Parallel, RefusesAbsurdThreadCounts) {
  const int before = runtime::threads();
  EXPECT_THROW(runtime::set_threads(0), Error);
  EXPECT_THROW(runtime::set_threads(-3), Error);
  EXPECT_THROW(runtime::set_threads(1 << 20), Error);
  EXPECT_EQ(runtime::threads(), before);
}

}  // namespace
}  // namespace qkv
