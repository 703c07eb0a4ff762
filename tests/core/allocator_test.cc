#include "core/allocator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "core/pool.h"
#include "qkv/runtime.h"
#include "qkv/tensor.h"

namespace qkv {
namespace {

TEST(Allocator, HandsAFreedBlockOutAgain) {
  void* block = allocate_bytes(5000);
  free_bytes(block, 5000);
  const auto before = runtime::memory();
  void* again = allocate_bytes(4999);  // of the same size class
  EXPECT_EQ(again, block);
  const auto after = runtime::memory();
  EXPECT_EQ(after.misses, before.misses);
  EXPECT_EQ(after.allocations, before.allocations + 1);
  EXPECT_EQ(after.in_use - before.in_use, before.cached - after.cached);
  free_bytes(again, 4999);
}

TEST(Allocator, BlocksAreAlignedWritableAndWasteAtMostAnEighth) {
  for (std::size_t bytes :
       {0ul, 1ul, 63ul, 64ul, 65ul, 511ul, 512ul, 513ul, 1023ul, 1024ul, 1025ul,
        4097ul, 65537ul, 1000003ul, (1ul << 24) + 1}) {
    const auto before = runtime::memory();
    void* block = allocate_bytes(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
    std::memset(block, 1, bytes);
    const auto used =
        static_cast<std::size_t>(runtime::memory().in_use - before.in_use);
    EXPECT_GE(used, bytes);
    EXPECT_LE(used, bytes + bytes / 8 + 64) << bytes;
    free_bytes(block, bytes);
    EXPECT_EQ(runtime::memory().in_use, before.in_use);
  }
}

TEST(Allocator, PeakIsTheMostInUseSinceItWasReset) {
  runtime::reset_peak_memory();
  const auto start = runtime::memory();
  EXPECT_EQ(start.peak, start.in_use);
  void* a = allocate_bytes(1 << 20);
  void* b = allocate_bytes(1 << 20);
  free_bytes(a, 1 << 20);
  free_bytes(b, 1 << 20);
  EXPECT_EQ(runtime::memory().peak, start.in_use + (2 << 20));
  EXPECT_EQ(runtime::memory().in_use, start.in_use);
  runtime::reset_peak_memory();
  EXPECT_EQ(runtime::memory().peak, start.in_use);
}

TEST(Allocator, ReleaseGivesTheCacheBack) {
  free_bytes(allocate_bytes(1 << 20), 1 << 20);
  EXPECT_GE(runtime::memory().cached, 1 << 20);
  runtime::release_cached_memory();
  EXPECT_EQ(runtime::memory().cached, 0);
  const auto before = runtime::memory();
  free_bytes(allocate_bytes(1 << 20), 1 << 20);
  EXPECT_EQ(runtime::memory().misses, before.misses + 1);
}

TEST(Allocator, PoisonedMemoryReadsAsNaN) {
  for (int round = 0; round < 2; ++round) {  // fresh and reused blocks
    runtime::set_poison(true);
    const Tensor f32 = Tensor::empty({100}),
                 f64 = Tensor::empty({100}, DType::f64);
    const Tensor bf16 = Tensor::empty({100}, DType::bf16);
    runtime::set_poison(false);
    for (const Tensor& x : {f32, f64, bf16})
      for (double value : x.to_vector<double>()) ASSERT_TRUE(std::isnan(value));
    Tensor(f32).fill(0);
  }
}

TEST(Allocator, ThreadsMayShareIt) {
  const auto before = runtime::memory();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 5000; ++i) {
        const std::size_t bytes = 64u << (i % 5);
        auto* block = static_cast<unsigned char*>(allocate_bytes(bytes));
        std::memset(block, t, bytes);
        for (std::size_t j = 0; j < bytes; ++j)
          if (block[j] != t) ADD_FAILURE() << "two owners of one block";
        free_bytes(block, bytes);
      }
    });
  for (auto& thread : threads) thread.join();
  const auto after = runtime::memory();
  EXPECT_EQ(after.in_use, before.in_use);
  EXPECT_EQ(after.allocations, before.allocations + 4 * 5000);
}

TEST(Pool, HandsAFreedBlockOutAgain) {
  void* block = pool_allocate(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u);
  pool_free(block, 100);
  EXPECT_EQ(pool_allocate(128), block);  // of the same size class
  void* other = pool_allocate(129);      // of the next one
  EXPECT_NE(other, block);
  pool_free(block, 128);
  pool_free(other, 129);
  pool_free(nullptr, 100);
}

TEST(Pool, LargeAndEmptyBlocksWorkToo) {
  for (std::size_t bytes : {0ul, 1ul, 8192ul, 8193ul, 1ul << 20}) {
    void* block = pool_allocate(bytes);
    std::memset(block, 1, bytes);
    pool_free(block, bytes);
  }
}

TEST(Pool, ServesStandardContainers) {
  std::vector<int, PoolAllocator<int>> v;
  for (int i = 0; i < 10000; ++i) v.push_back(i);
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(v[i], i);
}

}  // namespace
}  // namespace qkv
