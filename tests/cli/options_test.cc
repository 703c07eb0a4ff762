// What the program says of itself.
#include <gtest/gtest.h>

#include "core/json.h"
#include "qkv/runtime.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

namespace qkv::test {
namespace {

TEST(Options, VersionIsTheLibrarys) {
  const Ran ran = run_qkv({"--version"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(ran.out.starts_with(std::string("qkv ") + kVersion + "\n"))
      << ran.out;
  EXPECT_NE(ran.out.find(runtime::instruction_set()), std::string::npos);
}

TEST(Options, EverySubcommandHasHelpWithAnExample) {
  for (const char* command :
       {"train", "sample", "eval", "attend", "info", "layer"}) {
    const Ran ran = run_qkv({command, "--help"});
    EXPECT_EQ(ran.code, 0) << command << ran.err;
    EXPECT_NE(ran.out.find("    qkv " + std::string(command)),
              std::string::npos)
        << command;
    EXPECT_NE(run_qkv({"--help"}).out.find(command), std::string::npos);
  }
}

TEST(Options, TrainHelpShowsDefaults) {
  const Ran ran = run_qkv({"train", "--help"});
  for (const char* part : {"--n-layer", "--beta2", "0.99", "--lines"})
    EXPECT_NE(ran.out.find(part), std::string::npos) << part;
}

TEST(Options, NoArgumentsShowHelp) {
  const Ran ran = run_qkv({});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("train"), std::string::npos);
}

TEST(Options, ASubcommandBehindDashesIsFoundAsWell) {
  EXPECT_EQ(run_qkv({"--", "info"}).code, 0);
}

TEST(Options, InfoTellsTheMachine) {
  const Ran ran = run_qkv({"info", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto info = nlohmann::json::parse(ran.out);
  const auto sets = info["instruction_sets"];
  EXPECT_EQ(info["instruction_set"], sets[0]);
  EXPECT_NE(info["instruction_set_reason"], "asked for");
  EXPECT_GE(info["threads"], 1);
  EXPECT_NE(info["threads_reason"], "");
  const auto& kernels = info["kernels"];
  EXPECT_EQ(kernels["attention"]["kernel"], "flash");
  EXPECT_EQ(kernels["attention_f64"]["kernel"], "row by row");
  for (const auto& [work, choice] : kernels.items())
    EXPECT_NE(choice.at("reason"), "") << work;
}

TEST(Options, InfoTellsWhyThereAreSoManyThreads) {
  const Ran asked =
      run_qkv({"info"}, {.environment = {{"OMP_NUM_THREADS", "3"}}});
  EXPECT_NE(asked.out.find("threads                  3\n"), std::string::npos)
      << asked.out;
  EXPECT_NE(asked.out.find("OMP_NUM_THREADS"), std::string::npos) << asked.out;
}

TEST(Options, AnotherLocaleChangesNoNumber) {
  TempFolder folder;
  const auto run = [&](const char* locale) {
    return run_qkv(
        {"train", "--task", "copy", "--n-layer", "1", "--n-head", "1",
         "--n-embd", "8", "--steps", "3", "--out", folder / locale},
        {.environment = {{"LC_ALL", locale}, {"HOME", ""}}});
  };
  ASSERT_EQ(run("C").code, 0);
  ASSERT_EQ(run("de_DE.UTF-8").code, 0);
  EXPECT_EQ(read_bytes(folder / "C/config.toml"),
            read_bytes(folder / "de_DE.UTF-8/config.toml"));
}

// libgomp tells at its start what it was given.
TEST(Options, ThreadsOfALongComputationWaitBriefly) {
  if (runtime::threads() < 2) GTEST_SKIP() << "one processor: nobody waits";
  const auto spin = [](const std::string& command) {
    const Ran ran = run_shell("OMP_DISPLAY_ENV=VERBOSE " + command,
                              {.environment = {{"HOME", ""}}});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const std::size_t at = ran.err.rfind("GOMP_SPINCOUNT = '");
    return at == ran.err.npos ? -1 : std::stoll(ran.err.substr(at + 18));
  };
  const std::string train = "qkv train --task copy --dry-run";
  EXPECT_EQ(spin("env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY " + train), 10000);
  EXPECT_EQ(spin("env -u OMP_WAIT_POLICY GOMP_SPINCOUNT=77 " + train), 77);
  EXPECT_GT(spin("env -u GOMP_SPINCOUNT OMP_WAIT_POLICY=active " + train),
            1000);
}

}  // namespace
}  // namespace qkv::test
