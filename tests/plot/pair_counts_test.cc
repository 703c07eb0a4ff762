// The map of counts: every pair and number in its place, shades in the order of
// the counts.
#include "plot/drawing.h"
#include "plot/number.h"
#include "qkv/plot_course.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

PairCounts three() {
  return {.title = "counts",
          .tokens = {"·", "a", "b"},
          .counts = {0, 4410, 12, 6640, 1, 541, 7, 0, 100}};
}

TEST(PairCounts, WritesEachPairOverItsCount) {
  const auto picture = checked_svg(draw_pair_counts(three()));
  const Element* pair = text_element(picture, "ab");
  const Element* count = text_element(picture, "541");
  ASSERT_TRUE(pair && count);
  EXPECT_EQ(pair->number("x"), count->number("x"));
  EXPECT_LT(pair->number("y"), count->number("y"));
  // A row is what came before, a column what followed.
  const Element* same_row = text_element(picture, "a·");
  const Element* same_column = text_element(picture, "bb");
  ASSERT_TRUE(same_row && same_column);
  EXPECT_EQ(same_row->number("y"), pair->number("y"));
  EXPECT_LT(same_row->number("x"), pair->number("x"));
  EXPECT_EQ(same_column->number("x"), pair->number("x"));
  EXPECT_GT(same_column->number("y"), pair->number("y"));
  EXPECT_TRUE(some_text_contains(picture, "6,640, the most"));
}

TEST(PairCounts, ShadesByTheRootOfTheCount) {
  const Picture picture = draw_pair_counts(three());
  bool drawn = false;
  for (const Shape& shape : picture.drawing().shapes())
    if (const auto* group = std::get_if<CellGroup>(&shape)) {
      // One path a shade; 0 and 0 share one, whatever lies between.
      EXPECT_EQ(group->paths.size(), 8u);
      for (const std::int64_t count : three().counts) {
        const int shade =
            static_cast<int>(std::lround(255 * std::sqrt(count / 6640.0)));
        bool found = false;
        for (const Outline& path : group->paths)
          found |= path.style.fill == sequential(Ground::light)[shade];
        EXPECT_TRUE(found) << count;
      }
      drawn = true;
    }
  EXPECT_TRUE(drawn);
}

TEST(PairCounts, LeavesNamesOutWhereTheyAreTooMany) {
  PairCounts many;
  many.tokens.assign(kMostNamedPairs + 1, "a");
  many.counts.assign(many.tokens.size() * many.tokens.size(), 3);
  EXPECT_FALSE(text_element(checked_svg(draw_pair_counts(many)), "aa"));
  many.tokens.pop_back();
  many.counts.assign(many.tokens.size() * many.tokens.size(), 0);
  EXPECT_TRUE(text_element(parse_xml(draw_pair_counts(many).svg()), "aa"))
      << "all counts 0 can be drawn";
}

TEST(PairCounts, RefusesWhatDoesNotFit) {
  PairCounts pairs = three();
  pairs.counts[4] = -1;
  EXPECT_ERROR(input, "the count of aa is -1", draw_pair_counts(pairs));
  pairs.counts.pop_back();
  EXPECT_ERROR(input, "8 counts for 3 tokens; they need 9",
               draw_pair_counts(pairs));
  EXPECT_ERROR(input, "0 tokens", draw_pair_counts({}));
}

}  // namespace
}  // namespace qkv::plot
