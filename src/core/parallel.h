// Threads. Sums are cut by their shape, never by the thread count, so that
// results do not depend on it; what changes no bit may be cut for the workers.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

namespace qkv {

// A non-owning reference to a callable: no allocation.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(
      F&& f)  // NOLINT: implicit on purpose, call sites pass lambdas
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(
              std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const {
    return call_(object_, std::forward<Args>(args)...);
  }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// How blocks reach threads: even shares in order, or one at a time to whoever
// is free (for blocks of unequal cost, dearest first).
enum class Schedule { even, dynamic };

// Calls body(block) for block in [0, blocks). One region; on the calling thread
// alone when there is one block, one thread, or a region already runs. When
// blocks throw, the exception of the lowest one is thrown again here, and
// blocks above it may not have run.
void parallel_for(std::int64_t blocks, FunctionRef<void(std::int64_t)> body,
                  Schedule schedule = Schedule::even);

// The same, telling body which worker runs it, in [0, worker_count()): an index
// into scratch memory, never into results.
void parallel_for_worker(std::int64_t blocks,
                         FunctionRef<void(std::int64_t block, int worker)> body,
                         Schedule schedule = Schedule::even);
int worker_count();
// The workers that a region started here would have: 1 inside another.
int free_workers();

// Cuts [0, n) into blocks of `grain` (the last may be shorter) and calls
// body(begin, end) for each. grain depends on the work, never on the threads.
void parallel_ranges(std::int64_t n, std::int64_t grain,
                     FunctionRef<void(std::int64_t, std::int64_t)> body);

}  // namespace qkv
