#include "core/allocator.h"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/check.h"
#include "qkv/runtime.h"

namespace qkv {
namespace {

constexpr std::size_t kAlignment = 64;

// The size class: multiples of 64 up to 512, then eight steps an octave.
std::size_t rounded(std::size_t bytes) {
  if (bytes <= 512) return bytes == 0 ? 64 : (bytes + 63) / 64 * 64;
  const std::size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

struct Cache {
  std::mutex mutex;
  std::unordered_map<std::size_t, std::vector<void*>> free;
  runtime::MemoryStats stats;

  void hand_out(std::size_t size) {
    ++stats.allocations;
    stats.in_use += static_cast<std::int64_t>(size);
    if (stats.in_use > stats.peak) stats.peak = stats.in_use;
  }
};
Cache& cache() {
  static Cache* cache = new Cache;  // never destroyed: statics may outlive it
  return *cache;
}

std::atomic<bool> g_poison{false};

}  // namespace

void* allocate_bytes(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 62))
    fail_input("out of memory: {} bytes do not exist", bytes);
  const std::size_t size = rounded(bytes);
  Cache& c = cache();
  void* block = nullptr;
  {
    std::lock_guard lock(c.mutex);
    auto it = c.free.find(size);
    if (it != c.free.end() && !it->second.empty()) {
      block = it->second.back();
      it->second.pop_back();
      c.stats.cached -= static_cast<std::int64_t>(size);
      c.hand_out(size);
    }
  }
  if (!block) {
    block = std::aligned_alloc(kAlignment, size);
    if (!block) {  // other sizes in the cache may hold what is missing
      runtime::release_cached_memory();
      block = std::aligned_alloc(kAlignment, size);
    }
    if (!block)
      fail_input(
          "out of memory: a block of {} bytes could not be had; use a smaller "
          "model, batch or context",
          bytes);
    std::lock_guard lock(c.mutex);
    ++c.stats.misses;
    c.hand_out(size);
  }
  if (g_poison.load(std::memory_order_relaxed)) std::memset(block, 0xff, size);
  return block;
}

void free_bytes(void* block, std::size_t bytes) noexcept {
  if (!block) return;
  const std::size_t size = rounded(bytes);
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  c.stats.in_use -= static_cast<std::int64_t>(size);
  c.stats.cached += static_cast<std::int64_t>(size);
  c.free[size].push_back(block);
}

namespace runtime {

MemoryStats memory() {
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  return c.stats;
}

void reset_peak_memory() {
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  c.stats.peak = c.stats.in_use;
}

void release_cached_memory() {
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  for (auto& [size, blocks] : c.free) {
    for (void* block : blocks) std::free(block);
    blocks.clear();
  }
  c.stats.cached = 0;
}

void set_poison(bool on) { g_poison = on; }

}  // namespace runtime
}  // namespace qkv
