#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "cli/ladder_rungs.h"
#include "core/json.h"
#include "tests/support/data_files.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

namespace qkv::test {
namespace {

using nlohmann::json;

std::string names_file(const TempFolder& folder) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text +=
        std::string(1, 'a' + i % 5) + "b" + std::string(1, 'a' + i % 3) + "\n";
  return write_bytes(folder / "names.txt", text);
}

TEST(Ladder, EveryRungIsTrainedMeasuredAndKept) {
  TempFolder folder;
  const Ran ran = run_qkv({"ladder", "--lines", names_file(folder), "--steps",
                           "3", "--out", folder / "out", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json row = json::parse(line);
    const auto& rung = cli::rungs().at(count);
    EXPECT_EQ(row["rung"], rung.name);
    EXPECT_TRUE(row["train_loss"].is_number()) << line;
    EXPECT_TRUE(row["validation_loss"].is_number()) << line;
    EXPECT_TRUE(row["test_loss"].is_null()) << "makemore's split has none";
    EXPECT_FALSE(row["sample"].get<std::string>().empty());
    EXPECT_EQ(run_qkv({"sample", folder / "out/" + std::string(rung.name),
                       "--count", "1"})
                  .code,
              0);
  }
  EXPECT_EQ(count, cli::rungs().size());
  EXPECT_TRUE(std::filesystem::exists(folder / "out/ladder.svg"));
}

TEST(Ladder, OfTheSameSeedIsTheSame) {
  TempFolder folder;
  const auto climb = [&](const char* out) {
    const Ran ran =
        run_qkv({"ladder", "--lines", names_file(folder), "--steps", "3",
                 "--only", "gru", "--out", folder / out, "--json"});
    const json row = json::parse(ran.out);
    return row["validation_loss"].get<double>();
  };
  EXPECT_EQ(climb("a"), climb("b"));
}

TEST(Ladder, WhatCannotBeIsNamed) {
  TempFolder folder;
  const auto refused = [](std::vector<std::string> arguments,
                          const std::string& part) {
    arguments.insert(arguments.begin(), "ladder");
    const Ran ran = run_qkv(arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  };
  refused({"--only", "gptt"}, "there is no rung 'gptt'; did you mean 'gpt'?");
  refused({"--parity"}, "--parity needs --data DIR");
  refused({"--data", "x"}, "--data goes with --parity");
  refused({"--lines", folder / "none", "--out", folder / "o"},
          "none: cannot open it");
  refused({"--lines", write_bytes(folder / "one", "emma\n"), "--only",
           "batchnorm", "--out", folder / "o", "--steps", "-1"},
          "--steps");
}

TEST(Ladder, ParitySaysWhichFilesAreMissing) {
  TempFolder folder;
  const Ran ran = run_qkv({"ladder", "--parity", "--data", folder.path()});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  for (const char* name : {"names.txt", "tinyshakespeare.txt"})
    EXPECT_NE(ran.err.find(std::string(name) + " is missing"),
              std::string::npos)
        << ran.err;
}

// The first numbers of --parity; script/verify goes through all.
TEST(Ladder, LectureLossesComeOutToTheDigit) {
  const auto names = data_file("names.txt");
  if (!exists(names)) GTEST_SKIP() << names << " is missing";
  TempFolder folder;
  const auto losses = [&](const char* preset) {
    const Ran ran =
        run_qkv({"train", "--preset", preset, "--lines", names, "--stop-at",
                 "100", "--eval-every", "0", "--eval-batches", "1", "--out",
                 folder / preset, "--quiet"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::vector<double> all;
    std::istringstream log(read_bytes(folder / preset + "/log.jsonl"));
    for (std::string line; std::getline(log, line);)
      if (const json event = json::parse(line); event["type"] == "train")
        all.push_back(event["loss"]);
    return all;
  };
  const auto mlp = losses("lecture-mlp"), norm = losses("lecture-batchnorm");
  ASSERT_EQ(mlp.size(), 100u);
  ASSERT_EQ(norm.size(), 100u);
  EXPECT_NEAR(mlp[0], 3.3179007, 1e-5);
  EXPECT_NEAR(mlp[1], 3.2341597, 1e-5);
  EXPECT_NEAR(mlp[9], 3.0488553, 1e-5);
  EXPECT_NEAR(mlp[99], 2.6632526, 1e-4);
  EXPECT_NEAR(norm[0], 3.3238626, 1e-5);
  EXPECT_NEAR(norm[2], 3.2063632, 1e-5);
  EXPECT_NEAR(norm[99], 2.5489874, 1e-4);
}

TEST(Ladder, LooksBeforeItClimbs) {
  TempFolder folder;
  const std::vector<std::string> ladder = {
      "ladder", "--task", "copy", "--steps", "1", "--out", folder / "l"};
  auto one = ladder;
  one.insert(one.end(), {"--only", "bow"});
  ASSERT_EQ(run_qkv(one).code, 0);
  auto two = ladder;
  two.insert(two.end(), {"--only", "bigram", "--only", "bow"});
  const Ran refused = run_qkv(two);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("qkv train --resume"), std::string::npos)
      << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "l/bigram"));

  write_bytes(folder / "names.txt", "anna\nbob\n");
  const Ran other = run_qkv({"ladder", "--parity", "--data", folder.path()});
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.out, "");
  EXPECT_NE(other.err.find("names.txt: 9 bytes"), std::string::npos)
      << other.err;
  EXPECT_EQ(
      run_qkv({"ladder", "--parity", "--data", folder.path(), "--only", "bow"})
          .code,
      2);
}

}  // namespace
}  // namespace qkv::test
