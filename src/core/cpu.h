// Facts about the processor and what this process may use of it.
#pragma once

#include <string>

namespace qkv {

// min(affinity mask, cgroup cpu quota rounded down), at least 1.
int usable_cpus();

// The quota in whole CPUs (rounded down, at least 1) from cgroup v2's cpu.max
// or v1's cfs files; 0 when there is none. Any level above this process may
// limit. root is put before /proc and /sys: tests give a folder.
int quota_cpus(const std::string& root = "");

}  // namespace qkv
