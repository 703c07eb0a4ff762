// Names where they lie.
#include "plot/drawing.h"
#include "qkv/plot_course.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

TEST(NamedScatter, PutsNamesWhereTheyLie) {
  const auto picture = checked_svg(draw_scatter(
      {.title = "letters",
       .x_name = "dimension 0",
       .y_name = "dimension 1",
       .dots = {{-2, 1, "a"}, {0, 5, "b"}, {2, 3, "<"}, {1, -3, "d"}}}));
  const auto at = [&](const char* name, const char* axis) {
    const Element* element = text_element(picture, name);
    EXPECT_TRUE(element) << name;
    return element ? element->number(axis) : 0;
  };
  EXPECT_NEAR(at("b", "x") - at("a", "x"), at("<", "x") - at("b", "x"), 0.1);
  EXPECT_GT(at("d", "x"), at("b", "x"));
  EXPECT_NEAR(at("a", "y") - at("<", "y"), at("<", "y") - at("b", "y"), 0.1);
  EXPECT_GT(at("d", "y"), at("a", "y")) << "upwards is more";
  // A circle around each.
  int circles = 0;
  for (const Element& element : picture)
    if (element.name == "circle") {
      ++circles;
      bool named = false;
      for (const char* name : {"a", "b", "<", "d"})
        named |= std::abs(at(name, "x") - element.number("cx")) < 0.1;
      EXPECT_TRUE(named);
    }
  EXPECT_EQ(circles, 4);
  EXPECT_TRUE(text_element(picture, "dimension 0"));
}

TEST(NamedScatter, HoldsOneAndNone) {
  checked_svg(draw_scatter({.dots = {{1e6, 0, "one"}}}));
  checked_svg(draw_scatter({}));
  EXPECT_ERROR(input, "'x' lies at (nan",
               draw_scatter({.dots = {{NAN, 0, "x"}}}));
  EXPECT_ERROR(input, "a width of 5 mm", draw_scatter({.width_mm = 5}));
}

}  // namespace
}  // namespace qkv::plot
