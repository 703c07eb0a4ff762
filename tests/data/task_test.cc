// Made-up tasks, their answers computed here another way.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/data/support.h"

namespace qkv::data {
namespace {

DataConfig task(const std::string& name, std::int64_t length = 0,
                std::int64_t symbols = 0) {
  DataConfig config;
  config.task = name;
  config.task_length = length;
  config.task_symbols = symbols;
  return config;
}

// Rows of a training batch: the text, and which of its characters are asked
// for ('x') or not ('.'), the stop included.
struct Row {
  std::string text, asked;
};
std::vector<Row> rows(Dataset& d, std::int64_t n) {
  const Batch batch = d.next(n);
  std::vector<Row> all;
  for (std::int64_t i = 0; i < n; ++i) {
    const Ids x = row(batch.ids, i), y = row(batch.targets, i);
    EXPECT_EQ(x[0], 0);
    Row r;
    for (std::size_t t = 0; t < y.size(); ++t) {
      // A target is the token that comes next, or the stop.
      if (y[t] >= 0 && t + 1 < x.size()) {
        EXPECT_EQ(y[t], x[t + 1]);
      }
      r.asked += y[t] >= 0 ? 'x' : '.';
    }
    Ids tokens(x.begin() + 1, x.end());
    if (y.back() > 0) tokens.push_back(y.back());  // no room for it in x
    r.text = d.tokenizer().decode(tokens);
    all.push_back(r);
  }
  return all;
}

TEST(Tasks, SortAsksForTheDigitsInOrder) {
  const auto d = open_seeded(task("sort"));
  EXPECT_EQ(d->kind(), "task");
  EXPECT_EQ(d->tokenizer().vocab_size(), 5);  // stop 0 1 2 =
  EXPECT_EQ(d->block_size(), 14);             // 201102=001122 and the stop
  for (const Row& r : rows(*d, 200)) {
    ASSERT_EQ(r.text.size(), 13u);
    std::string sorted = r.text.substr(0, 6);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(r.text.substr(6), "=" + sorted);
    EXPECT_EQ(r.asked, ".......xxxxxxx");
  }
}

TEST(Tasks, ReverseAndCopy) {
  for (const char* name : {"reverse", "copy"}) {
    const auto d = open_seeded(task(name, 5, 4));
    EXPECT_EQ(d->tokenizer().vocab_size(), 6);  // stop = a b c d
    for (const Row& r : rows(*d, 200)) {
      std::string expected = r.text.substr(0, 5);
      if (std::string(name) == "reverse")
        std::reverse(expected.begin(), expected.end());
      EXPECT_EQ(r.text.substr(5), "=" + expected);
      EXPECT_EQ(r.asked, "......xxxxxx");
    }
  }
}

TEST(Tasks, AddWritesTheSumBackwards) {
  const auto d = open_seeded(task("add"));
  EXPECT_EQ(d->tokenizer().vocab_size(), 13);
  for (const Row& r : rows(*d, 300)) {
    ASSERT_EQ(r.text.size(), 9u);  // 07+85=290
    std::string sum = r.text.substr(6);
    std::reverse(sum.begin(), sum.end());
    EXPECT_EQ(std::stoi(r.text) + std::stoi(r.text.substr(3)), std::stoi(sum));
    EXPECT_EQ(r.asked, "......xxxx");
  }
}

TEST(Tasks, InductionAsksForWhatFollowedBefore) {
  const auto d = open_seeded(task("induction"));
  EXPECT_EQ(d->block_size(), 32);
  std::set<std::size_t> periods;
  for (const Row& r : rows(*d, 300)) {
    ASSERT_EQ(r.text.size(), 32u);
    const std::size_t n = r.text.find(r.text[0], 1);
    periods.insert(n);
    const std::string period = r.text.substr(0, n);
    EXPECT_EQ(std::set(period.begin(), period.end()).size(), n);
    for (std::size_t i = n; i < 32; ++i) EXPECT_EQ(r.text[i], r.text[i - n]);
    EXPECT_EQ(r.asked, std::string(n + 1, '.') + std::string(31 - n, 'x'));
  }
  EXPECT_EQ(*periods.begin(), 3u);
  EXPECT_EQ(*periods.rbegin(), 16u);
}

TEST(Tasks, AQuarterOfTheQuestionsIsNeverTrainedOn) {
  for (const char* name : {"sort", "add", "reverse", "induction"}) {
    const auto d = open_seeded(task(name, 0, name[0] == 'r' ? 4 : 0));
    const auto validation = texts(*d, Split::validation);
    const std::set<std::string> held_out(validation.begin(), validation.end());
    int met = 0;
    for (const std::string& text : texts(*d, Split::train))
      met += held_out.contains(text);
    for (const Row& r : rows(*d, 5000)) met += held_out.contains(r.text);
    EXPECT_EQ(met, 0) << name;
  }
  // Of sort's 729 questions about 182 are held out, and nearly all occur among
  // a thousand draws.
  const auto d = open_seeded(task("sort"));
  const auto validation = texts(*d, Split::validation);
  const std::size_t different =
      std::set(validation.begin(), validation.end()).size();
  EXPECT_GT(different, 140u);
  EXPECT_LT(different, 225u);
}

TEST(Tasks, PromptsAreHeldOutQuestionsAndAnswersAreJudged) {
  for (const char* name : {"sort", "reverse", "copy", "add", "induction"}) {
    const auto d = open_seeded(task(name));
    const auto validation = texts(*d, Split::validation);
    for (int i : {0, 7, 999, 1007}) {
      const std::string prompt = d->prompt(i), text = validation[i % 1000];
      EXPECT_TRUE(text.starts_with(prompt)) << prompt << " " << text;
      EXPECT_LT(prompt.size(), text.size());
      EXPECT_EQ(d->judge(text), "right");
    }
  }
  const auto sort = open_seeded(task("sort"));
  EXPECT_EQ(sort->prompt(0).back(), '=');
  EXPECT_EQ(sort->judge("201102=001122"), "right");
  EXPECT_EQ(sort->judge("201102=001121"), "wrong, 001122 is right");
  EXPECT_EQ(sort->judge("201102=00112"), "wrong, 001122 is right");
  EXPECT_EQ(sort->judge("201102=0011222"), "wrong, 001122 is right");
  EXPECT_EQ(sort->judge("20110=001122"), "");
  EXPECT_EQ(sort->judge("901102=001129"), "");
  EXPECT_EQ(sort->judge(""), "");
  const auto add = open_seeded(task("add"));
  EXPECT_EQ(add->judge("07+85=290"), "right");
  EXPECT_EQ(add->judge("99+99=891"), "right");
  EXPECT_EQ(add->judge("07+85=092"), "wrong, 290 is right");
  EXPECT_EQ(add->judge("07-85=092"), "");
  const auto induction = open_seeded(task("induction"));
  EXPECT_EQ(induction->judge("abcabca"), "right");
  EXPECT_EQ(induction->judge("abcabb"), "wrong, abc is right");
  EXPECT_EQ(induction->judge("abc"), "");
}

TEST(Tasks, SizesAreOptions) {
  EXPECT_EQ(open_seeded(task("sort", 10, 10))->block_size(), 22);
  EXPECT_EQ(open_seeded(task("add", 3))->block_size(), 13);
  EXPECT_ERROR(input, "task sort: task_symbols must be 2 to 10, not 11",
               open_seeded(task("sort", 6, 11)));
  EXPECT_ERROR(input, "task add: task_length must be 1 to 50, not -1",
               open_seeded(task("add", -1)));
  EXPECT_ERROR(input,
               "no task 'srot'; there are sort, reverse, copy, add, "
               "induction; did you mean 'sort'?",
               open_seeded(task("srot")));
  EXPECT_ERROR(input, "task_length and task_symbols need a task",
               open_seeded(task("", 3)));
}

TEST(Open, OneSourceOnly) {
  DataConfig config = task("sort");
  config.lines = "names.txt";
  EXPECT_ERROR(input, "both lines (names.txt) and task (sort) are given",
               open_seeded(config));
  config = task("sort");
  config.validation_text = "v.txt";
  EXPECT_ERROR(input, "validation_text (v.txt) needs a text",
               open_seeded(config));
}

}  // namespace
}  // namespace qkv::data
