// Areas are the numbers; their signs can be told in grey.
#include "plot/drawing.h"
#include "qkv/plot_course.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

SignedSquares two_by_two() {
  return {.title = "gradient",
          .row_name = "example",
          .column_name = "letter",
          .row_labels = {"0", "1"},
          .column_labels = {"a", "b"},
          .values = {0.25, -1, 0, 0.01}};
}

TEST(SignedSquares, HaveTheNumbersAreas) {
  const Picture picture = draw_signed_squares(two_by_two());
  checked_svg(picture);
  std::vector<double> filled, hollow;
  for (const Shape& shape : picture.drawing().shapes()) {
    const auto* r = std::get_if<Rect>(&shape);
    if (!r || !r->style.fill || r->width > 20) continue;
    if (!r->style.stroke)
      filled.push_back(r->width * r->height);
    else  // with its line, half of which lies outside
      hollow.push_back((r->width + r->style.width) *
                       (r->height + r->style.width));
  }
  // Two numbers and the legend's; one and the legend's.
  ASSERT_EQ(filled.size(), 3u);
  ASSERT_EQ(hollow.size(), 2u);
  EXPECT_NEAR(filled[0], 25, 1e-9);
  EXPECT_NEAR(filled[1], 1, 1e-9);
  EXPECT_NEAR(hollow[0], 100, 1e-9);
  EXPECT_NEAR(filled[2], 100, 1e-9);
}

TEST(SignedSquares, HoldNothingButZeroAndLongNames) {
  SignedSquares squares = two_by_two();
  squares.values = {0, 0, 0, 0};
  squares.column_labels = {"a long name", "</text>"};
  checked_svg(draw_signed_squares(squares));
}

TEST(SignedSquares, RefuseWhatDoesNotFit) {
  SignedSquares squares = two_by_two();
  squares.values[0] = NAN;
  EXPECT_ERROR(input, "a value is nan", draw_signed_squares(squares));
  squares.row_labels.pop_back();
  EXPECT_ERROR(input, "4 values for 1 rows and 2 columns",
               draw_signed_squares(squares));
  EXPECT_ERROR(input, "0 values", draw_signed_squares({}));
}

}  // namespace
}  // namespace qkv::plot
