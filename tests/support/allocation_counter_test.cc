#include "tests/support/allocation_counter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "qkv/runtime.h"
#include "qkv/tensor.h"

namespace qkv::test {
namespace {

struct alignas(128) Wide {
  char bytes[128];
};

// Keeps the compiler from leaving an allocation out.
template <class T>
void use(T* x) {
  asm volatile("" : : "r"(x) : "memory");
}

TEST(AllocationCounter, SeesEveryFormOfNew) {
  const auto count = [](const std::function<void()>& action) {
    const Allocations before = allocations();
    action();
    return (allocations() - before).news;
  };
  EXPECT_EQ(count([] {}), 0);
  EXPECT_EQ(count([] {
              auto x = std::make_unique<int>(3);
              use(x.get());
            }),
            1);
  EXPECT_EQ(count([] {
              auto x = std::make_unique<int[]>(30);
              use(x.get());
            }),
            1);
  EXPECT_EQ(count([] {
              auto x = std::make_unique<Wide>();
              use(x.get());
              EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.get()) % 128, 0u);
            }),
            1);
  EXPECT_EQ(count([] {
              std::unique_ptr<int> x(new (std::nothrow) int(3));
              use(x.get());
            }),
            1);
  EXPECT_EQ(count([] {
              std::vector<int> x(10);
              use(x.data());
              std::string text(100, 'x');  // made in the standard library
              use(text.data());
            }),
            2);
}

TEST(AllocationCounter, SeesOtherThreads) {
  std::atomic<int> stage{0};
  std::thread thread([&] {
    while (stage != 1) std::this_thread::yield();
    auto x = std::make_unique<int>(3);
    use(x.get());
    stage = 2;
    while (stage != 3) std::this_thread::yield();
  });
  const Allocations before = allocations();
  stage = 1;
  while (stage != 2) std::this_thread::yield();
  EXPECT_EQ((allocations() - before).news, 1);
  stage = 3;
  thread.join();
}

TEST(AllocationCounter, SeesMappedMemory) {
  const Allocations before = allocations();
  const std::size_t bytes = 10 << 20;
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_GE((allocations() - before).mapped, static_cast<std::int64_t>(bytes));
  munmap(block, bytes);
  EXPECT_EQ((allocations() - before).mapped, 0);
}

TEST(AllocationCounter, SeesMissesOfTheCache) {
  runtime::release_cached_memory();
  { Tensor::empty({1000}); }
  const Allocations before = allocations();
  { Tensor::empty({1000}); }
  EXPECT_EQ((allocations() - before).misses, 0);
  EXPECT_EQ((allocations() - before).news, 0);
  { Tensor a = Tensor::empty({1000}), b = Tensor::empty({1000}); }
  EXPECT_EQ((allocations() - before).misses, 1);
}

}  // namespace
}  // namespace qkv::test
