#include "cli/openmp_wait.h"

#include <unistd.h>

#include <cstdlib>

namespace qkv::cli {

void spin_briefly(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  // Longer than the gaps between the parallel parts of a small step, which it
  // then costs nothing: at 1000 a step of 4 ms took 6, at 5000 no longer.
  setenv("GOMP_SPINCOUNT", "10000", 0);
  execv("/proc/self/exe", argv);
}

}  // namespace qkv::cli
