#include "tests/docs/console.h"

#include <gtest/gtest.h>

namespace qkv::docs {
namespace {

constexpr const char* kDocument = R"(# Title
```sh
$ not run
```
```console
$ first --option \
    value
one line
two 1.25

$ second
```
<!-- similar, long -->
```console
$ third
…
last 10
```
)";

TEST(Console, ADocumentIsItsCommandsAndWhatTheyPrint) {
  const auto steps = console_steps(kDocument);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].command, "first --option \\\n    value");
  EXPECT_EQ(steps[0].output,
            (std::vector<std::string>{"one line", "two 1.25", ""}));
  EXPECT_EQ(steps[0].line, 6);
  EXPECT_FALSE(steps[0].lasting);
  EXPECT_TRUE(steps[1].output.empty());
  EXPECT_EQ(steps[2].agreement, Agreement::similar);
  EXPECT_TRUE(steps[2].lasting);
}

bool same(std::vector<std::string> shown, std::vector<std::string> printed,
          Agreement agreement = Agreement::exact) {
  return difference({"c", std::move(shown), agreement}, printed).empty();
}

TEST(Console, WordsAreEqualAndNumbersWithinOneInTheLastPlace) {
  EXPECT_TRUE(same({"loss 2.0312"}, {"loss 2.0313"}));
  EXPECT_FALSE(same({"loss 2.0312"}, {"loss 2.0314"}));
  EXPECT_FALSE(same({"loss 2.0312"}, {"lost 2.0312"}));
  EXPECT_FALSE(same({"loss -0.5"}, {"loss 0.5"}));
  EXPECT_TRUE(same({"x  -0.000"}, {"x   0.000"})) << "rounded to nothing";
  EXPECT_FALSE(same({"step 1,000"}, {"step 1,001"})) << "a count";
  EXPECT_FALSE(same({"a"}, {"a", "b"}));
  EXPECT_FALSE(same({"a", "b"}, {"a"}));
}

TEST(Console, SimilarNumbersAreWithinATenth) {
  EXPECT_TRUE(same({"loss 2.00"}, {"loss 2.19"}, Agreement::similar));
  EXPECT_FALSE(same({"loss 2.00"}, {"loss 2.21"}, Agreement::similar));
  EXPECT_TRUE(same({"loss 2.00"}, {"what you like"}, Agreement::varies));
}

TEST(Console, AnEllipsisIsAnyNumberOfLines) {
  EXPECT_TRUE(same({"a", "…", "z"}, {"a", "b", "c", "z"}));
  EXPECT_TRUE(same({"a", "…", "z"}, {"a", "z"}));
  EXPECT_TRUE(same({"a", "…"}, {"a", "b"}));
  EXPECT_FALSE(same({"a", "…", "z"}, {"a", "b", "c"}));
}

}  // namespace
}  // namespace qkv::docs
