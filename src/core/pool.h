// Small objects that come and go every step (tensor handles, tape nodes): free
// lists by size, so that a steady step calls no operator new.
#pragma once

#include <cstddef>

namespace qkv {

void* pool_allocate(std::size_t bytes);
void pool_free(void* block, std::size_t bytes) noexcept;

// Derive from it: new and delete of the class go through the pool.
struct Pooled {
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* block, std::size_t bytes) noexcept {
    pool_free(block, bytes);
  }
};

// For standard containers.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}  // NOLINT: rebinding is implicit
  T* allocate(std::size_t n) {
    return static_cast<T*>(pool_allocate(n * sizeof(T)));
  }
  void deallocate(T* block, std::size_t n) noexcept {
    pool_free(block, n * sizeof(T));
  }
  friend bool operator==(const PoolAllocator&, const PoolAllocator&) {
    return true;
  }
};

}  // namespace qkv
