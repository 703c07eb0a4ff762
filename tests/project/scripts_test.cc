// The scripts, with apt, ctest and the like replaced by stand-ins that write
// down how they were called.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/project/shell.h"

namespace qkv::project {
namespace {

void write_program(const fs::path& path, const std::string& body) {
  write(path, "#!/bin/sh\n" + body + "\n");
  fs::permissions(path, fs::perms::owner_all);
}

TEST(Scripts, AreExecutableBash) {
  int found = 0;
  for (const fs::path& file : project_files()) {
    if (file.parent_path() != "script" && file != ".ci/run") continue;
    ++found;
    EXPECT_EQ(access((kSource / file).c_str(), X_OK), 0) << file;
    const Result parsed = shell("bash -n '" + (kSource / file).string() + "'");
    EXPECT_EQ(parsed.status, 0) << parsed.output;
  }
  EXPECT_GE(found, 6);
}

class Bootstrap : public testing::Test {
 protected:
  Bootstrap() {
    const std::string log = folder_ / "log";
    for (const char* name : {"apt-get", "sudo"})
      write_program(bin() / name,
                    std::string("echo ") + name + " \"$@\" >>" + log);
  }
  fs::path bin() const { return folder_ / "bin"; }
  // `lacking`: the one package that is not installed, or "".
  Result run(const std::string& lacking, const std::string& argument = "") {
    write_program(bin() / "dpkg-query", "shift 3\nfor p; do [ $p = '" +
                                            lacking +
                                            "' ] || echo installed $p; done");
    return shell("PATH='" + bin().string() + "':\"$PATH\" '" +
                 (kSource / "script/bootstrap").string() + "' " + argument);
  }
  std::string log() const { return read_bytes(folder_ / "log"); }

  TempFolder folder_;
};

TEST_F(Bootstrap, DoesNothingWhenAllIsThere) {
  const Result result = run("");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(log(), "");
}

TEST_F(Bootstrap, InstallsWhatIsMissingOnly) {
  EXPECT_EQ(run("libhwy-dev").status, 0);
  const std::string as = geteuid() == 0 ? "" : "sudo ";
  EXPECT_EQ(log().rfind(as + "apt-get update", 0), 0u) << log();
  EXPECT_NE(log().find("--no-install-recommends libhwy-dev\n"),
            std::string::npos)
      << log();
}

TEST_F(Bootstrap, SaysWhyItFailed) {
  write_program(bin() / "apt-get", "echo E: no such package; exit 100");
  write_program(bin() / "sudo", "exec \"$@\"");
  const Result result = run("libhwy-dev");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.output.find("E: no such package"), std::string::npos);
}

TEST_F(Bootstrap, AsksForTheLintToolsOnRequestOnly) {
  EXPECT_EQ(run("clang-tidy").status, 0);
  EXPECT_EQ(log(), "");
  EXPECT_EQ(run("clang-tidy", "lint").status, 0);
  EXPECT_NE(log().find("clang-tidy"), std::string::npos);
}

// A copy of script/test, with a build that does nothing and a ctest that says
// `junit` and exits with `status`.
Result run_tests(const std::string& junit, int status) {
  TempFolder copy;
  fs::create_directories(copy / "script");
  fs::copy(kSource / "script/test", copy / "script/test");
  write_program(copy / "script/build", "mkdir -p build");
  write_program(copy / "bin/ctest", "cat >build/test-results.xml <<'END'\n" +
                                        junit + "\nEND\nexit " +
                                        std::to_string(status));
  return shell("PATH='" + (copy / "bin") + "':\"$PATH\" '" +
               (copy / "script/test") + "'");
}

TEST(TestScript, EndsWithTheCount) {
  const Result result = run_tests(
      "<testsuite name=\"tests=9\"\n\ttests=\"12\"\n\tfailures=\"2\"\n"
      "\tdisabled=\"1\"\n\tskipped=\"3\"\n\ttime=\"1\">\n"
      "<system-out>\n\ttests=\"99\"\n</system-out></testsuite>",
      8);
  EXPECT_EQ(result.output, "6 passed, 2 failed, 4 skipped\n");
  EXPECT_EQ(result.status, 8);
}

TEST(TestScript, FailsWithoutResults) {
  const Result result = run_tests("", 0);
  EXPECT_NE(result.status, 0);
  EXPECT_EQ(result.output.find("passed"), std::string::npos);
}

}  // namespace
}  // namespace qkv::project
