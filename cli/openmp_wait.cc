#include "cli/openmp_wait.h"

#include <unistd.h>

#include <cstdlib>

namespace qkv::cli {

void spin_briefly(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  // As long as the gaps between the parallel parts of a small step.
  setenv("GOMP_SPINCOUNT", "1000", 0);
  execv("/proc/self/exe", argv);
}

}  // namespace qkv::cli
