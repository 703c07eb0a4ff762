// Histograms: each row's bars hold its values, at one scale for all rows.
#include <gtest/gtest.h>

#include <cmath>

#include "plot/drawing.h"
#include "qkv/plot_course.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

// The y of every point of the outlines of the rows, from the top.
std::vector<std::vector<double>> outlines(const Histograms& histograms) {
  const Picture picture = draw_histograms(histograms);
  checked_svg(picture);
  std::vector<std::vector<double>> found;
  for (const Shape& shape : picture.drawing().shapes()) {
    const auto* outline = std::get_if<Outline>(&shape);
    if (!outline || !outline->style.stroke) continue;
    auto& ys = found.emplace_back();
    for (const Path::Step& step : outline->path.steps) ys.push_back(step.y);
  }
  return found;
}

TEST(Histograms, BarsAreAsHighAsTheirShare) {
  Histograms h;
  h.low = 0, h.high = 4, h.bins = 4;
  // Shares 1/2, 1/4, 0, 1/4, the last one from beyond the axis; then all in
  // one bin.
  h.samples = {{"a", {0.5f, 0.6f, 1.5f, 9.0f, NAN}, ""}, {"b", {2.5f}, ""}};
  const auto rows = outlines(h);
  ASSERT_EQ(rows.size(), 2u);
  const auto &a = rows[0], &b = rows[1];
  ASSERT_EQ(a.size(), 10u);
  const double whole = b[0] - b[5];  // of the third bin
  EXPECT_GT(whole, 10);
  const double wanted[] = {0.5, 0.25, 0, 0.25};
  for (std::size_t bin = 0; bin < 4; ++bin) {
    EXPECT_NEAR(a[0] - a[1 + 2 * bin], wanted[bin] * whole, 0.02) << bin;
    EXPECT_NEAR(b[0] - b[1 + 2 * bin], bin == 2 ? whole : 0, 0.02) << bin;
  }
}

TEST(Histograms, CutsWhatPassesTheFullHeight) {
  Histograms h;
  h.bins = 2, h.full = 0.25;
  h.samples = {{"a", {-0.5f, 0.5f, 0.6f, 0.7f}, ""}};
  const auto a = outlines(h)[0];
  EXPECT_NEAR(a[1], a[3], 0.01) << "both bins are of full height or more";
  EXPECT_TRUE(some_text_contains(checked_svg(draw_histograms(h)), "25"));
}

TEST(Histograms, HoldOddInputAndRefuseWrong) {
  Histograms h;
  checked_svg(draw_histograms(h));
  h.samples = {{"</text>\xff", {}, "&"}, {"none finite", {NAN, INFINITY}, ""}};
  checked_svg(draw_histograms(h));
  h.low = 1;
  EXPECT_ERROR(input, "low 1 must be below high 1", draw_histograms(h));
  h.low = 0, h.bins = 0;
  EXPECT_ERROR(input, "0 bins", draw_histograms(h));
  h.bins = 4, h.width_mm = 1;
  EXPECT_ERROR(input, "a width of 1 mm", draw_histograms(h));
  h.width_mm = 40, h.samples[0].note = std::string(60, 'W');
  EXPECT_ERROR(input, "no room", draw_histograms(h));
}

}  // namespace
}  // namespace qkv::plot
