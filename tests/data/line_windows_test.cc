// Examples of the last few tokens, and the lecture's split in three.
#include <gtest/gtest.h>

#include <map>

#include "tests/data/support.h"
#include "tests/support/data_files.h"
#include "tests/support/errors.h"

namespace qkv::data {
namespace {

using test::TempFolder;
using test::write_bytes;

DataConfig windows(const std::string& path, std::int64_t window) {
  DataConfig config;
  config.lines = path;
  config.window = window;
  return config;
}

TEST(LineWindows, AnExampleIsTheLastTokensAndTheNextOne) {
  TempFolder folder;
  const auto d = open_seeded(windows(write_bytes(folder / "x", "ab\nc\n"), 3));
  EXPECT_EQ(d->block_size(), 3);
  ASSERT_EQ(d->examples(Split::train), 5);  // a b stop, c stop
  const Batch batch = d->evaluation(Split::train, 0, 5);
  EXPECT_EQ(batch.ids.shape(), Shape({5, 3}));
  EXPECT_EQ(batch.targets.shape(), Shape({5, 1}));
  std::map<Ids, std::int64_t> found;
  for (std::int64_t i = 0; i < 5; ++i)
    found[row(batch.ids, i)] = row(batch.targets, i)[0];
  const std::map<Ids, std::int64_t> expected{
      {{0, 0, 1}, 2}, {{0, 1, 2}, 0}, {{0, 0, 3}, 0}};
  for (const auto& [ids, target] : expected) EXPECT_EQ(found.at(ids), target);
  EXPECT_EQ(found.size(), 4u);  // both items begin with nothing
}

TEST(LineWindows, TrainingDrawsExamplesAsTorchDrawsNumbers) {
  TempFolder folder;
  DataConfig config = windows(write_bytes(folder / "x", "ab\nc\nde\n"), 2);
  TorchRng rng(5);
  const auto d = open(config, {}, rng);
  TorchRng copy(0);
  copy.set_state(rng.state());
  d->start(rng);
  const Batch batch = d->next(20);
  for (std::int64_t i = 0; i < 20; ++i) {
    const std::int64_t at = copy.randint(d->examples(Split::train));
    EXPECT_EQ(row(batch.ids, i),
              row(d->evaluation(Split::train, at, 1).ids, 0));
  }
}

TEST(LineWindows, TheLecturesSplitHasAThirdPart) {
  TempFolder folder;
  std::string text;
  for (int i = 0; i < 10; ++i) text += std::string(1, 'a' + i) + "\n";
  DataConfig config = windows(write_bytes(folder / "x", text), 1);
  config.split = SplitRule::lecture;
  const auto d = open_seeded(config);
  EXPECT_EQ(d->examples(Split::train), 16);
  EXPECT_EQ(d->examples(Split::validation), 2);
  EXPECT_EQ(d->examples(Split::test), 2);
  // Python shuffles 0 … 9 to 7 3 2 8 5 6 9 4 0 1.
  EXPECT_EQ(d->judge("h"), "in train");
  EXPECT_EQ(d->judge("a"), "in validation");
  EXPECT_EQ(d->judge("b"), "in test");
  EXPECT_EQ(d->judge("k"), "new");
}

TEST(LineWindows, OneItemIsRefused) {
  TempFolder folder;
  DataConfig config = windows(write_bytes(folder / "x", "one\n"), 3);
  config.split = SplitRule::lecture;
  EXPECT_ERROR(input, "1 item: a list needs two at least", open_seeded(config));
}

TEST(LineWindows, NamesAsTheLecturesCutThem) {
  const auto names = test::data_file("names.txt");
  if (!exists(names)) GTEST_SKIP() << names << " is missing";
  DataConfig config = windows(names, 3);
  config.split = SplitRule::lecture;
  const auto d = open_seeded(config);
  EXPECT_EQ(d->examples(Split::train), 182625);
  EXPECT_EQ(d->examples(Split::validation), 22655);
  EXPECT_EQ(d->examples(Split::test), 22866);
}

}  // namespace
}  // namespace qkv::data
