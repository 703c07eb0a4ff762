// Counts what a piece of code asks of the memory system. A test program that
// links qkv_allocation_counter has its operator new replaced by a counting one:
//   const auto before = test::allocations();
//   …
//   const auto used = test::allocations() - before;
//   EXPECT_EQ(used.news, 0) << used;
#pragma once

#include <cstdint>
#include <ostream>

namespace qkv::test {

struct Allocations {
  std::int64_t news = 0;    // calls of operator new, of every thread
  std::int64_t misses = 0;  // of the caching allocator
  std::int64_t mapped = 0;  // bytes of address space: brk, mmap, stacks

  friend Allocations operator-(const Allocations& a, const Allocations& b) {
    return {a.news - b.news, a.misses - b.misses, a.mapped - b.mapped};
  }
  friend std::ostream& operator<<(std::ostream& out, const Allocations& a) {
    return out << a.news << " news, " << a.misses << " cache misses, "
               << a.mapped << " bytes more address space";
  }
};

// Since the program began (mapped: now). Allocates nothing itself.
Allocations allocations();

// While one lives, a call of operator new stops the program (SIGTRAP): under a
// debugger the stack shows who made it.
class TrapAllocations {
 public:
  TrapAllocations();
  ~TrapAllocations();
};

}  // namespace qkv::test
