// Running text: nanoGPT's rules.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/data/support.h"
#include "tests/support/data_files.h"

namespace qkv::data {
namespace {

using test::TempFolder;
using test::write_bytes;

class TextTest : public testing::Test {
 protected:
  // A text of n characters, 'a' to 'j' in turn; batches of T = block.
  DataConfig text(std::int64_t n, std::string_view name = "x.txt") {
    std::string content;
    for (std::int64_t i = 0; i < n; ++i)
      content += static_cast<char>('a' + i % 10);
    DataConfig config;
    config.text = write_bytes(folder_ / name, content);
    return config;
  }
  static OpenOptions block(std::int64_t size) {
    OpenOptions options;
    options.block_size = size;
    return options;
  }

  TempFolder folder_;
};

TEST_F(TextTest, OffsetsAreNanoGptsUnderPyTorch) {
  DataConfig config = text(1112);  // 1,000 to train on
  // Each character says where it stands: code points from U+4E00.
  std::string content;
  for (int i = 0; i < 1112; ++i) {
    const int c = 0x4E00 + i;
    content += static_cast<char>(0xE0 | c >> 12);
    content += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    content += static_cast<char>(0x80 | (c & 0x3F));
  }
  write_bytes(config.text, content);
  TorchRng rng(1337);
  const auto d = open(config, block(8), rng);
  for (int i = 0; i < 10; ++i) rng.u32();  // where a model draws its weights
  d->start(rng);
  for (const Ids& offsets :
       {Ids{692, 40, 169, 550, 886, 570}, Ids{919, 56, 737, 443, 157, 262}}) {
    const Batch batch = d->next(6);
    for (int i = 0; i < 6; ++i)
      for (int t = 0; t < 8; ++t) {
        EXPECT_EQ(row(batch.ids, i)[t], offsets[i] + t);
        EXPECT_EQ(row(batch.targets, i)[t], offsets[i] + t + 1);
      }
  }
}

TEST_F(TextTest, EveryTokenButTheFirstIsAskedForOnce) {
  for (const std::int64_t n : {30, 31, 32, 33, 100}) {
    DataConfig config = text(n);
    config.validation_fraction = 0;
    const auto d = open_seeded(config, block(8));
    EXPECT_EQ(d->examples(Split::validation), 0);
    const std::int64_t windows = d->examples(Split::train);
    EXPECT_EQ(windows, (n - 1 + 7) / 8);
    Ids asked;
    for (std::int64_t i = 0; i < windows; ++i) {
      const Batch batch = d->evaluation(Split::train, i, 1);
      const Ids x = row(batch.ids, 0), y = row(batch.targets, 0);
      for (std::size_t t = 0; t < y.size(); ++t) {
        if (y[t] < 0) continue;
        EXPECT_EQ(x[t], std::ssize(asked) % 10);
        asked.push_back(y[t]);
      }
    }
    ASSERT_EQ(std::ssize(asked), n - 1);
    for (std::int64_t i = 0; i < n - 1; ++i) EXPECT_EQ(asked[i], (i + 1) % 10);
  }
}

TEST_F(TextTest, EvaluationIsTheSameInBatchesOfAnySize) {
  const auto d = open_seeded(text(1000), block(8));
  const std::int64_t n = d->examples(Split::validation);
  const Batch whole = d->evaluation(Split::validation, 0, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const Batch one = d->evaluation(Split::validation, i, 1);
    EXPECT_EQ(row(one.ids, 0), row(whole.ids, i));
    EXPECT_EQ(row(one.targets, 0), row(whole.targets, i));
  }
}

TEST_F(TextTest, SplitsAtTheFraction) {
  const auto d = open_seeded(text(1005), block(8));
  // 904 to train on (int(0.9 · 1005)), 101 to validate on.
  EXPECT_EQ(d->examples(Split::train), (903 + 7) / 8);
  EXPECT_EQ(d->examples(Split::validation), (100 + 7) / 8);
  EXPECT_EQ(row(d->evaluation(Split::validation, 0, 1).ids, 0)[0], 904 % 10);
  EXPECT_NE(
      d->describe().find("x.txt: 1,005 tokens, 10 different; 904 to train "
                         "on, 101 to validate on"),
      std::string::npos)
      << d->describe();
}

TEST_F(TextTest, ATextShorterThanTheContextIsRefused) {
  EXPECT_ERROR(input, "x.txt: need >= 9 tokens for a context of 8, have 5",
               open_seeded(text(5), block(8)));
  EXPECT_ERROR(input, "need >= 9 tokens for a context of 8, have 8",
               open_seeded(text(8), block(8)));
  EXPECT_ERROR(input,
               "need >= 9 tokens to train on with a context of 8, have 8 of 9",
               open_seeded(text(9), block(8)));
  EXPECT_ERROR(input, "have 1 of 11; raise validation_fraction", [&] {
    DataConfig config = text(11);
    config.validation_fraction = 0.09;
    return open_seeded(config, block(8));
  }());
  for (const std::int64_t n : {9, 10}) {
    DataConfig config = text(n);
    config.validation_fraction = 0;
    const auto d = open_seeded(config, block(8));
    EXPECT_EQ(d->next(4).ids.shape(), Shape({4, 8}));
  }
  EXPECT_ERROR(input, "block size must be at least 1, not 0",
               open_seeded(text(9), block(0)));
  EXPECT_ERROR(input, "validation_fraction must be", [&] {
    DataConfig config = text(100);
    config.validation_fraction = 1.5;
    return open_seeded(config, block(8));
  }());
  EXPECT_ERROR(input, "validation_fraction must be", [&] {
    DataConfig config = text(100);
    config.validation_fraction = std::nan("");
    return open_seeded(config, block(8));
  }());
}

TEST_F(TextTest, AnOwnValidationTextJoinsTheVocabulary) {
  DataConfig config = text(20);
  config.validation_text = write_bytes(folder_ / "v.txt", "xyzxyz");
  const auto d = open_seeded(config, block(8));
  EXPECT_EQ(d->tokenizer().vocab_size(), 13);
  EXPECT_NE(d->describe().find("13 different (3 not in the part to train on)"),
            std::string::npos)
      << d->describe();
  EXPECT_EQ(d->examples(Split::train), 3);  // nothing is cut from the text
  EXPECT_EQ(texts(*d, Split::validation)[0].substr(0, 5), "xyzxy");
  config.validation_text = write_bytes(folder_ / "v.txt", "x");
  EXPECT_ERROR(input, "v.txt: need >= 2 tokens to validate on, have 1",
               open_seeded(config, block(8)));
  config.validation_text = folder_ / "none";
  EXPECT_ERROR(input, "none: cannot open it", open_seeded(config, block(8)));
}

TEST_F(TextTest, AGivenTokenizerIsUsedAndNamesWhatItNeverSaw) {
  OpenOptions options = block(8);
  options.tokenizer = character_tokenizer("abcdefghijk", false);
  EXPECT_EQ(open_seeded(text(100), options)->tokenizer().vocab_size(), 11);
  options.tokenizer = character_tokenizer("abcdefghi", false);
  EXPECT_ERROR(input, "x.txt: U+006A 'j' at character 10 is not in the",
               open_seeded(text(100), options));
}

TEST_F(TextTest, ATextToMeasureOnIsAllValidation) {
  const auto letters =
      std::shared_ptr(character_tokenizer("abcdefghij", false));
  const auto measure = [&](std::int64_t n) {
    return text_for_evaluation(text(n).text, letters, 8);
  };
  const auto d = measure(5);  // shorter than the context
  EXPECT_EQ(d->examples(Split::train), 0);
  ASSERT_EQ(d->examples(Split::validation), 1);
  const Batch batch = d->evaluation(Split::validation, 0, 1);
  EXPECT_EQ(row(batch.targets, 0), (Ids{1, 2, 3, 4, -1, -1, -1, -1}));
  EXPECT_EQ(measure(100)->examples(Split::validation), (99 + 7) / 8);
  EXPECT_ERROR(input, "x.txt: need >= 2 tokens to measure on, have 1",
               measure(1));
}

TEST_F(TextTest, CarriageReturnsAreKeptAndTold) {
  DataConfig config;
  config.text = write_bytes(folder_ / "x", "ab\r\ncd\r\nab\r\ncd\r\nab\r\n");
  config.validation_fraction = 0;
  const auto d = open_seeded(config, block(8));
  EXPECT_EQ(d->tokenizer().vocab_size(), 6);
  EXPECT_NE(d->describe().find("; 5 CR kept"), std::string::npos);
  EXPECT_EQ(d->prompt(0), "\n");
  EXPECT_EQ(open_seeded(text(100), block(8))->prompt(0), "a");
  EXPECT_EQ(d->judge("ab"), "");
}

TEST_F(TextTest, BadFilesAreNamed) {
  DataConfig config;
  config.text = write_bytes(folder_ / "x.txt", "a\n\xFF");
  EXPECT_ERROR(input, "x.txt: line 2 is not UTF-8", open_seeded(config));
  config.text = folder_ / "none.txt";
  EXPECT_ERROR(input, "none.txt: cannot open it", open_seeded(config));
}

TEST_F(TextTest, TinyShakespeareAsNanoGptCutsIt) {
  const auto path = test::data_file("tinyshakespeare.txt");
  if (!exists(path)) GTEST_SKIP() << path << " is missing";
  DataConfig config;
  config.text = path.string();
  const auto d = open_seeded(config, block(64));
  EXPECT_EQ(d->tokenizer().vocab_size(), 65);
  EXPECT_EQ(d->examples(Split::train), (1'003'853 + 63) / 64);
  EXPECT_EQ(d->examples(Split::validation), (111'539 + 63) / 64);
}

}  // namespace
}  // namespace qkv::data
