#include "core/pool.h"

#include <array>
#include <mutex>
#include <new>

namespace qkv {
namespace {

constexpr std::size_t kStep = 64;       // sizes are rounded up to this
constexpr std::size_t kLargest = 8192;  // above it, operator new
constexpr std::size_t kClasses = kLargest / kStep;

struct FreeBlock {
  FreeBlock* next;
};
struct Pool {
  std::mutex mutex;
  std::array<FreeBlock*, kClasses> free{};
};
Pool& pool() {
  static Pool* pool = new Pool;  // never destroyed: statics may outlive it
  return *pool;
}

}  // namespace

void* pool_allocate(std::size_t bytes) {
  if (bytes == 0) bytes = 1;
  if (bytes > kLargest) return ::operator new(bytes);
  const std::size_t size_class = (bytes - 1) / kStep;
  {
    Pool& p = pool();
    std::lock_guard lock(p.mutex);
    if (FreeBlock* block = p.free[size_class]) {
      p.free[size_class] = block->next;
      return block;
    }
  }
  return ::operator new((size_class + 1) * kStep);
}

void pool_free(void* block, std::size_t bytes) noexcept {
  if (!block) return;
  if (bytes == 0) bytes = 1;
  if (bytes > kLargest) return ::operator delete(block);
  const std::size_t size_class = (bytes - 1) / kStep;
  auto* free = static_cast<FreeBlock*>(block);
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  free->next = p.free[size_class];
  p.free[size_class] = free;
}

}  // namespace qkv
