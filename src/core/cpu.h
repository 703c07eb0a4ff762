// Facts about the processor and what this process may use of it.
#pragma once

#include <string>
#include <string_view>

namespace qkv {

// A number of CPUs, and which rule gave it.
struct CpuCount {
  int cpus = 1;
  std::string_view reason;  // static text
};

// min(affinity mask, cgroup cpu quota rounded down), at least 1.
CpuCount usable_cpus();
// The same of given numbers: CPUs of the machine, of the mask, of the quota (0:
// none).
CpuCount usable_of(int machine, int mask, int quota);

// The quota in whole CPUs (rounded down, at least 1) from cgroup v2's cpu.max
// or v1's cfs files; 0 when there is none. Any level above this process may
// limit. root is put before /proc and /sys: tests give a folder.
int quota_cpus(const std::string& root = "");

}  // namespace qkv
