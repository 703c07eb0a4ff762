// Facts about the processor and what this process may use of it.
#pragma once

namespace qkv {

// min(affinity mask, cgroup cpu quota rounded down), at least 1.
int usable_cpus();

}  // namespace qkv
