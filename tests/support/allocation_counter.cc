#include "tests/support/allocation_counter.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "qkv/runtime.h"

namespace {

std::atomic<std::int64_t> g_news{0};
std::atomic<bool> g_trap{false};

void count() {
  g_news.fetch_add(1, std::memory_order_relaxed);
  if (g_trap.load(std::memory_order_relaxed)) __builtin_trap();
}

}  // namespace

void* operator new(std::size_t bytes) {
  count();
  if (void* block = std::malloc(bytes ? bytes : 1)) return block;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) {
  count();
  if (void* block = std::malloc(bytes ? bytes : 1)) return block;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count();
  const auto a = static_cast<std::size_t>(alignment);
  if (void* block = std::aligned_alloc(a, (bytes + a - 1) / a * a))
    return block;
  throw std::bad_alloc();
}
// The standard library's own would call those above; a sanitizer's would not.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  count();
  return std::malloc(bytes ? bytes : 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  count();
  return std::malloc(bytes ? bytes : 1);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}

namespace qkv::test {

Allocations allocations() {
  Allocations now;
  // The first number of statm: the size of the address space in pages.
  char text[32] = {};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (read(file, text, sizeof text - 1) > 0)
      now.mapped = std::strtoll(text, nullptr, 10) * sysconf(_SC_PAGESIZE);
    close(file);
  }
  now.misses = runtime::memory().misses;
  now.news = g_news.load();
  return now;
}

TrapAllocations::TrapAllocations() { g_trap = true; }
TrapAllocations::~TrapAllocations() { g_trap = false; }

}  // namespace qkv::test
