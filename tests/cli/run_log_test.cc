#include "cli/run_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace qkv::test {
namespace {

using cli::read_run_log;

TEST(RunLog, ALineCutShortByACrashIsIgnored) {
  TempFolder folder;
  write_bytes(folder / "log.jsonl",
              "{\"type\":\"train\",\"step\":1}\n{\"type\":\"tra");
  EXPECT_EQ(read_run_log(folder / "log.jsonl").size(), 1u);
}

TEST(RunLog, OpeningTakesOffALineCutShort) {
  TempFolder folder;
  write_bytes(folder / "log.jsonl",
              "{\"type\":\"train\",\"step\":1}\n{\"type\":\"tra");
  {
    cli::RunLog log(folder / "log.jsonl");
    log.sample(2, "a\nb");
  }
  const auto lines = read_run_log(folder / "log.jsonl");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1]["text"], "a\nb");
}

TEST(RunLog, StepsAfterTheCheckpointOfAResumeDidNotHappen) {
  TempFolder folder;
  write_bytes(folder / "log.jsonl",
              "{\"type\":\"start\",\"step\":0}\n"
              "{\"type\":\"train\",\"step\":1,\"loss\":3}\n"
              "{\"type\":\"train\",\"step\":2,\"loss\":2}\n"
              "{\"type\":\"start\",\"step\":1}\n"
              "{\"type\":\"train\",\"step\":2,\"loss\":1}\n");
  const auto lines = read_run_log(folder / "log.jsonl");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[3]["loss"], 1);
}

TEST(RunLog, TwoTrainingsCannotShareAFolder) {
  TempFolder folder;
  cli::RunLog first(folder / "log.jsonl");
  EXPECT_ERROR(input, "another training", cli::RunLog(folder / "log.jsonl"));
}

TEST(RunLog, APipeOrADirectoryIsRefused) {
  TempFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_ERROR(io, "cannot be written", cli::RunLog(folder / "pipe"));
  EXPECT_ERROR(io, "cannot be written", cli::RunLog(folder.path()));
}

TEST(RunLog, WhatIsNoLogIsNamed) {
  TempFolder folder;
  write_bytes(folder / "log.jsonl", "{\"type\":\"train\"}\n[1]\n");
  EXPECT_ERROR(input, "line 2", read_run_log(folder / "log.jsonl"));
  for (const char* line : {"{\"type\":1}", "{\"type\":\"eval\",\"step\":1.5}",
                           "{\"type\":\"start\",\"step\":\"2\"}"}) {
    write_bytes(folder / "log.jsonl", std::string(line) + "\n");
    EXPECT_ERROR(input, "line 1", read_run_log(folder / "log.jsonl"));
  }
  EXPECT_ERROR(io, "cannot be written",
               cli::RunLog(folder / "missing/log.jsonl"));
}

}  // namespace
}  // namespace qkv::test
