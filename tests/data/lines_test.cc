// An item a line: makemore's rules, and its order of draws as PyTorch makes it
// (tests/data/make_fixtures.py).
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/data/support.h"
#include "tests/support/data_files.h"
#include "tests/support/errors.h"

namespace qkv::data {
namespace {

using test::TempFolder;
using test::write_bytes;

DataConfig lines(const std::string& path) {
  DataConfig config;
  config.lines = path;
  return config;
}

// 000, 001, …: item i is the number i.
std::string numbers(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    char line[16];
    std::snprintf(line, sizeof line, "%03d\n", i);
    text += line;
  }
  return text;
}

TEST(Lines, AnItemGoesFromStartToStop) {
  TempFolder folder;
  const auto d = open_seeded(lines(write_bytes(folder / "x", "emma\nmia\n")));
  EXPECT_EQ(d->kind(), "lines");
  EXPECT_EQ(d->block_size(), 5);              // the longest and its stop
  EXPECT_EQ(d->tokenizer().vocab_size(), 5);  // stop a e i m
  EXPECT_EQ(d->examples(Split::train), 2);
  const Batch batch = d->evaluation(Split::train, 0, 2);
  EXPECT_EQ(batch.ids.shape(), Shape({2, 5}));
  EXPECT_EQ(batch.ids.dtype(), DType::i64);
  const int emma = d->tokenizer().decode(row(batch.ids, 0)) == "emma" ? 0 : 1;
  EXPECT_EQ(row(batch.ids, emma), (Ids{0, 2, 4, 4, 1}));
  EXPECT_EQ(row(batch.targets, emma), (Ids{2, 4, 4, 1, 0}));
  EXPECT_EQ(row(batch.ids, 1 - emma), (Ids{0, 4, 3, 1, 0}));
  EXPECT_EQ(row(batch.targets, 1 - emma), (Ids{4, 3, 1, 0, -1}));
}

TEST(Lines, OrderIsMakemoresUnderPyTorch) {
  TempFolder folder;
  TorchRng rng(3407);
  const auto d = open(lines(write_bytes(folder / "x", numbers(1000))), {}, rng);
  for (int i = 0; i < 10; ++i) rng.u32();  // where a model draws its weights
  d->start(rng);

  const auto held_out = texts(*d, Split::validation);
  ASSERT_EQ(held_out.size(), 100u);
  EXPECT_EQ(std::vector(held_out.begin(), held_out.begin() + 8),
            (std::vector<std::string>{"187", "999", "027", "147", "867", "338",
                                      "082", "556"}));

  const auto drawn = [&](const Batch& batch, std::int64_t first) {
    std::vector<std::string> items;
    for (std::int64_t i = first; i < first + 8; ++i)
      items.push_back(d->tokenizer().decode(row(batch.ids, i)));
    return items;
  };
  EXPECT_EQ(drawn(d->next(48), 0),
            (std::vector<std::string>{"376", "621", "075", "297", "176", "232",
                                      "095", "058"}));
  rng.u64();  // an evaluation draws from the run's generator, not from ours
  d->next(48);
  EXPECT_EQ(drawn(d->next(48), 40),
            (std::vector<std::string>{"554", "932", "662", "036", "004", "969",
                                      "203", "601"}));
}

TEST(Lines, BlankLinesAndCarriageReturnsAreDroppedAndCounted) {
  TempFolder folder;
  const auto d =
      open_seeded(lines(write_bytes(folder / "x.txt",
                                    "\xEF\xBB\xBF"
                                    "emma\r\n\r\n  olivia \r\n \t\na\rb")));
  const auto items = texts(*d, Split::train);
  EXPECT_EQ(std::set(items.begin(), items.end()),
            (std::set<std::string>{"emma", "olivia", "a", "b"}));
  EXPECT_NE(d->describe().find("4 items (2 blank lines and 4 CR dropped)"),
            std::string::npos)
      << d->describe();
  EXPECT_NE(d->describe().find("none to validate on"), std::string::npos);
}

TEST(Lines, HoldsOutATenthAtMostAThousand) {
  TempFolder folder;
  const auto held_out = [&](int n, double fraction = 0.1) {
    DataConfig config = lines(write_bytes(folder / "x", numbers(n)));
    config.validation_fraction = fraction;
    const auto d = open_seeded(config);
    EXPECT_EQ(d->examples(Split::train) + d->examples(Split::validation), n);
    return d->examples(Split::validation);
  };
  EXPECT_EQ(held_out(2), 0);
  EXPECT_EQ(held_out(9), 0);
  EXPECT_EQ(held_out(10), 1);
  EXPECT_EQ(held_out(19), 1);
  EXPECT_EQ(held_out(10, 0.05), 0);  // and training keeps all ten
  EXPECT_EQ(held_out(999, 0), 0);
  EXPECT_EQ(held_out(12000), 1000);
}

TEST(Lines, TheSplitsAreEveryItemOnce) {
  TempFolder folder;
  const auto d = open_seeded(lines(write_bytes(folder / "x", numbers(500))));
  auto all = texts(*d, Split::train);
  const auto validation = texts(*d, Split::validation);
  all.insert(all.end(), validation.begin(), validation.end());
  std::sort(all.begin(), all.end());
  for (int i = 0; i < 500; ++i) EXPECT_EQ(std::stoi(all[i]), i);
  for (const std::string& item : validation)
    EXPECT_EQ(d->judge(item), "in validation");
  EXPECT_EQ(d->judge(texts(*d, Split::train)[0]), "in train");
  EXPECT_EQ(d->judge("500"), "new");
  EXPECT_EQ(d->judge(""), "new");
  EXPECT_EQ(d->prompt(3), "");
}

TEST(Lines, WhatCannotBeTrainedOnIsRefused) {
  TempFolder folder;
  EXPECT_ERROR(input, "x.txt: no item in it: 3 blank lines",
               open_seeded(lines(write_bytes(folder / "x.txt", "\n  \n\t\n"))));
  EXPECT_ERROR(input, "is empty",
               open_seeded(lines(write_bytes(folder / "x.txt", ""))));
  EXPECT_ERROR(input, "No such file", open_seeded(lines(folder / "none")));
  EXPECT_ERROR(input, "it is a directory", open_seeded(lines(folder.path())));
  EXPECT_ERROR(input, "x: 1 item: a list needs two at least; give more lines",
               open_seeded(lines(write_bytes(folder / "x", "a\n"))));
  const auto d = open_seeded(lines(write_bytes(folder / "x", "a\nb\n")));
  EXPECT_ERROR(input, "the batch size must be at least 1, not 0", d->next(0));
  EXPECT_ERROR(input, "examples 0 to 3 of 2",
               d->evaluation(Split::train, 0, 3));
  EXPECT_ERROR(input, "examples 0 to 1 of 0",
               d->evaluation(Split::validation, 0, 1));
}

TEST(Lines, AGivenTokenizerNamesWhatItNeverSaw) {
  TempFolder folder;
  OpenOptions options;
  options.tokenizer = character_tokenizer("abc", true);
  EXPECT_ERROR(
      input, "x.txt: item 'abé': U+00E9 'é' at character 3",
      open_seeded(lines(write_bytes(folder / "x.txt", "ab\nabé\n")), options));
  options.tokenizer = character_tokenizer("abc", false);
  EXPECT_ERROR(input, "no start token",
               open_seeded(lines(write_bytes(folder / "x", "ab\n")), options));
}

TEST(Lines, AnItemAsLongAsATextIsRefused) {
  TempFolder folder;
  TorchRng rng(1);
  const std::string path =
      write_bytes(folder / "l.txt", "ab\n" + std::string(20000, 'a') + "\n");
  EXPECT_ERROR(input, "item 2 of 2 has 20000 bytes",
               open(lines(path), {}, rng));
  EXPECT_ERROR(input, "--text", open(lines(path), {}, rng));
}

TEST(Lines, TheNamesOfTheLecture) {
  const auto path = test::data_file("names.txt");
  if (!exists(path)) GTEST_SKIP() << path << " is missing";
  const auto d = open_seeded(lines(path.string()), {}, 3407);
  EXPECT_EQ(d->examples(Split::train), 31'033);
  EXPECT_EQ(d->examples(Split::validation), 1'000);
  EXPECT_EQ(d->block_size(), 16);
  EXPECT_EQ(d->tokenizer().vocab_size(), 27);
}

TEST(Words, AreTheOnesOfAToZ) {
  if (!std::filesystem::exists(kWordList)) {
    EXPECT_THROW(open_seeded(DataConfig{}), WordListMissing);
    GTEST_SKIP() << kWordList << " is missing";
  }
  const auto d = open_seeded(DataConfig{});
  EXPECT_EQ(d->examples(Split::train) + d->examples(Split::validation), 63'875);
  EXPECT_EQ(d->examples(Split::validation), 1'000);
  EXPECT_EQ(d->tokenizer().vocab_size(), 27);
  EXPECT_EQ(d->judge("attention"), "in train");
  EXPECT_EQ(d->judge("attentiom"), "new");
}

}  // namespace
}  // namespace qkv::data
