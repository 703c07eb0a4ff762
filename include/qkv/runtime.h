// What the library runs on: threads, processor, kernels, memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/export.h"
#include "qkv/version.h"

namespace qkv {

namespace runtime {

// Threads of one computation. Default: min(affinity, cgroup quota rounded
// down), at least 1. Results do not depend on it. Throws outside 1 to 1024.
QKV_API void set_threads(int n);
QKV_API int threads();
// What decided their number, as one would say it: "asked for".
QKV_API std::string threads_reason();

// The instruction set in use: "AVX-512" or "AVX2".
QKV_API std::string instruction_set();
// Why it is this one: "the best this processor runs".
QKV_API std::string instruction_set_reason();
// The sets this build has and this processor runs, best first.
QKV_API std::vector<std::string> instruction_sets();
// Use a lesser one ("AVX2" on an AVX-512 machine); throws on an unknown name.
QKV_API void set_instruction_set(const std::string& name);
// Empty when this processor can run the library, else what it lacks.
QKV_API std::string missing_cpu_features();
QKV_API std::string cpu_name();

// Which implementation an operation takes. reference: plain C++. fast: the
// vectorised one, where the type has one (f32); attention, which lacks one for
// some cases, throws the reason then. automatic: fast where there is one.
enum class Path { automatic, reference, fast };

// While one lives, operations on this thread take the given path.
class QKV_API UsePath {
 public:
  explicit UsePath(Path path);
  ~UsePath();
  UsePath(const UsePath&) = delete;
  UsePath& operator=(const UsePath&) = delete;

 private:
  Path before_;
};
QKV_API Path path();

struct MemoryStats {
  std::int64_t in_use = 0;       // bytes handed out now
  std::int64_t peak = 0;         // their maximum since reset_peak
  std::int64_t cached = 0;       // bytes kept for reuse
  std::int64_t allocations = 0;  // requests, ever
  std::int64_t misses = 0;       // requests that went to the system, ever
};
QKV_API MemoryStats memory();
QKV_API void reset_peak_memory();
QKV_API void release_cached_memory();  // gives what is not in use back

// Fills every block handed out with NaN bytes (0xff), so that a read of memory
// nobody wrote shows. For tests.
QKV_API void set_poison(bool on);

}  // namespace runtime
}  // namespace qkv
