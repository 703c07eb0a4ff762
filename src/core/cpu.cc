#include "core/cpu.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "qkv/runtime.h"

namespace qkv {

int quota_cpus(const std::string& root) {
  double least = 0;
  auto consider = [&](double quota, double period) {
    if (quota > 0 && period > 0)
      least = least == 0 ? quota / period : std::min(least, quota / period);
  };
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    const bool v2 = controllers.empty();
    if (!v2 && controllers.find("cpu") == std::string::npos) continue;
    for (;;) {
      if (v2) {
        std::ifstream file(mount + path + "/cpu.max");
        std::string quota;
        double period = 0;
        if (file >> quota >> period && quota != "max")
          consider(std::strtod(quota.c_str(), nullptr), period);
      } else {
        const std::string dir =
            fmt::format("{}/{}{}", mount, controllers, path);
        std::ifstream quota_file(dir + "/cpu.cfs_quota_us");
        std::ifstream period_file(dir + "/cpu.cfs_period_us");
        double quota = 0, period = 0;
        if (quota_file >> quota && period_file >> period)
          consider(quota, period);
      }
      if (path.empty() || path == "/") break;
      const auto slash = path.find_last_of('/');
      path.erase(slash == std::string::npos ? 0 : slash);
    }
  }
  return least == 0 ? 0 : std::max(1, static_cast<int>(least));
}

CpuCount usable_of(int machine, int mask, int quota) {
  if (quota > 0 && quota < mask) return {quota, "the quota of its cgroup"};
  if (mask < machine) return {mask, "the CPUs of its affinity mask"};
  return {mask, "every CPU of the machine"};
}

CpuCount usable_cpus() {
  // The mask has room for 1024 processors; a machine with more refuses it.
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0
              ? CPU_COUNT(&set)
              : static_cast<int>(std::thread::hardware_concurrency());
  return usable_of(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
                   std::max(1, n), quota_cpus());
}

namespace runtime {

std::string missing_cpu_features() {
  std::string missing;
  auto need = [&](bool has, const char* name) {
    if (!has) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  __builtin_cpu_init();
  need(__builtin_cpu_supports("avx2"), "AVX2");
  need(__builtin_cpu_supports("fma"), "FMA");
  need(__builtin_cpu_supports("bmi2"), "BMI2");
  return missing;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      if (auto colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown processor";
}

}  // namespace runtime
}  // namespace qkv
