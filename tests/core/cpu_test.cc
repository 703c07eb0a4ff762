#include "core/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "qkv/error.h"
#include "qkv/runtime.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// The quota that files at these places under / would give.
int quota(const std::map<std::string, std::string>& files) {
  const fs::path root =
      fs::path(::testing::TempDir()) /
      ("qkv_cpu_" +
       std::string(
           ::testing::UnitTest::GetInstance()->current_test_info()->name()));
  fs::remove_all(root);
  for (const auto& [path, text] : files) {
    const fs::path file = root.string() + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const int result = quota_cpus(root.string());
  fs::remove_all(root);
  return result;
}

const std::string kGroup = "/proc/self/cgroup", kMount = "/sys/fs/cgroup";

TEST(Cpu, NoQuotaIsZero) {
  EXPECT_EQ(quota({}), 0);
  EXPECT_EQ(quota({{kGroup, "0::/\n"}}), 0);
  EXPECT_EQ(quota({{kGroup, "0::/a\n"}, {kMount + "/a/cpu.max", "max 100000"}}),
            0);
}

TEST(Cpu, Version2QuotasRoundDownButNotToZero) {
  auto max = [](const std::string& text) {
    return quota({{kGroup, "0::/\n"}, {kMount + "/cpu.max", text}});
  };
  EXPECT_EQ(max("200000 100000\n"), 2);
  EXPECT_EQ(max("199999 100000\n"), 1);
  EXPECT_EQ(max("10000 100000\n"), 1);
  EXPECT_EQ(max("350000 100000\n"), 3);
  EXPECT_EQ(max("50000 10000\n"), 5);
}

TEST(Cpu, TheLeastQuotaOfAllLevelsCounts) {
  EXPECT_EQ(quota({{kGroup, "0::/pod/box\n"},
                   {kMount + "/cpu.max", "800000 100000"},
                   {kMount + "/pod/cpu.max", "300000 100000"},
                   {kMount + "/pod/box/cpu.max", "max 100000"}}),
            3);
}

TEST(Cpu, AGroupThatIsNotMountedFallsBackToTheRoot) {
  // In a container without its own namespace the path is the host's.
  EXPECT_EQ(quota({{kGroup, "0::/docker/0123\n"},
                   {kMount + "/cpu.max", "400000 100000"}}),
            4);
}

TEST(Cpu, Version1QuotasAreRead) {
  const std::string lines =
      "12:cpuset:/a\n5:cpu,cpuacct:/a\n1:name=systemd:/x\n";
  const std::string dir = kMount + "/cpu,cpuacct/a";
  EXPECT_EQ(quota({{kGroup, lines},
                   {dir + "/cpu.cfs_quota_us", "250000\n"},
                   {dir + "/cpu.cfs_period_us", "100000\n"}}),
            2);
  EXPECT_EQ(quota({{kGroup, lines},
                   {dir + "/cpu.cfs_quota_us", "-1\n"},
                   {dir + "/cpu.cfs_period_us", "100000\n"}}),
            0);
}

TEST(Cpu, OddFilesAreNoQuota) {
  for (const char* text : {"", "\n", "x y", "100000", "100000 0", "-5 100000"})
    EXPECT_EQ(quota({{kGroup, "0::/\n"}, {kMount + "/cpu.max", text}}), 0)
        << text;
  for (const char* line : {"", "nonsense", "0::", "0::relative", ":::"})
    EXPECT_EQ(quota({{kGroup, line}}), 0) << line;
}

TEST(Cpu, UsableIsWithinTheAffinityMask) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_GE(usable_cpus().cpus, 1);
  EXPECT_LE(usable_cpus().cpus, CPU_COUNT(&set));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) {
      CPU_SET(i, &one);
      break;
    }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cpus().cpus, 1);
  sched_setaffinity(0, sizeof set, &set);
}

TEST(Cpu, TheRuleThatDecidesIsNamed) {
  const auto expect = [](const CpuCount& found, int cpus, const char* reason) {
    EXPECT_EQ(found.cpus, cpus);
    EXPECT_NE(found.reason.find(reason), std::string_view::npos)
        << found.reason;
  };
  expect(usable_of(8, 8, 0), 8, "every CPU");
  expect(usable_of(8, 8, 8), 8, "every CPU");
  expect(usable_of(8, 4, 0), 4, "affinity");
  expect(usable_of(8, 4, 6), 4, "affinity");
  expect(usable_of(8, 4, 3), 3, "cgroup");
  expect(usable_of(8, 8, 1), 1, "cgroup");
}

TEST(Cpu, ThisMachineIsDescribed) {
  EXPECT_EQ(runtime::missing_cpu_features(), "");
  EXPECT_FALSE(runtime::cpu_name().empty());
}

TEST(InstructionSet, CanBeNarrowedAndWidenedAgain) {
  const auto all = runtime::instruction_sets();
  ASSERT_FALSE(all.empty());
  const std::string best = runtime::instruction_set();
  EXPECT_EQ(best, all.front());
  for (const auto& name : all) {
    runtime::set_instruction_set(name);
    EXPECT_EQ(runtime::instruction_set(), name);
    EXPECT_EQ(runtime::instruction_sets(), all);
    EXPECT_EQ(runtime::instruction_set_reason(), "asked for");
  }
  try {
    runtime::set_instruction_set("MMX");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("MMX"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("AVX2"), std::string::npos);
  }
  runtime::set_instruction_set(best);
}

TEST(UsePath, ANarrowerScopeEndsWhereItLives) {
  using runtime::Path;
  EXPECT_EQ(runtime::path(), Path::automatic);
  {
    runtime::UsePath outer(Path::fast);
    {
      runtime::UsePath inner(Path::reference);
      EXPECT_EQ(runtime::path(), Path::reference);
    }
    EXPECT_EQ(runtime::path(), Path::fast);
  }
  EXPECT_EQ(runtime::path(), Path::automatic);
}

}  // namespace
}  // namespace qkv
