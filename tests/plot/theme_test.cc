// The colours keep what they promise: order in grey and for colour-blind
// readers, contrast of the text on them.
#include "plot/theme.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace qkv::plot {
namespace {

using Linear = std::array<double, 3>;

// sRGB to linear light.
Linear linear(Rgb colour) {
  const auto channel = [](double byte) {
    const double v = byte / 255;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return {channel(colour.r), channel(colour.g), channel(colour.b)};
}

double luminance(const Linear& c) {
  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
}

// CIE L*, 0…100.
double lightness(const Linear& c) {
  const double y = std::clamp(luminance(c), 0.0, 1.0);
  return y > 216.0 / 24389 ? 116 * std::cbrt(y) - 16 : y * 24389 / 27;
}

double contrast(Rgb a, Rgb b) {
  const double x = luminance(linear(a)), y = luminance(linear(b));
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

// Machado, Oliveira and Fernandes 2009, severity 1, on linear light.
using Matrix = std::array<Linear, 3>;
constexpr Matrix kNormal = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kProtan = {{{0.152286, 1.052583, -0.204868},
                             {0.114503, 0.786281, 0.099216},
                             {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeutan = {{{0.367322, 0.860646, -0.227968},
                             {0.280085, 0.672501, 0.047413},
                             {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kTritan = {{{1.255528, -0.076749, -0.178779},
                             {-0.078411, 0.930809, 0.147602},
                             {0.004733, 0.691367, 0.303900}}};

Linear seen(const Matrix& sight, Rgb colour) {
  const Linear in = linear(colour);
  Linear out;
  for (int i = 0; i < 3; ++i)
    out[i] = std::clamp(
        sight[i][0] * in[0] + sight[i][1] * in[1] + sight[i][2] * in[2], 0.0,
        1.0);
  return out;
}

TEST(Theme, RampKeepsItsOrderForEveryEye) {
  for (const Matrix& sight : {kNormal, kProtan, kDeutan, kTritan})
    for (const Ground ground : {Ground::light, Ground::dark}) {
      const double sign = ground == Ground::light ? -1 : 1;
      const auto& ramp = sequential(ground);
      for (int i = 1; i < 256; ++i)
        EXPECT_GE(sign * (lightness(seen(sight, ramp[i])) -
                          lightness(seen(sight, ramp[i - 1]))),
                  -0.03)
            << i;
      EXPECT_GT(sign * (lightness(seen(sight, ramp[255])) -
                        lightness(seen(sight, ramp[0]))),
                70);
    }
}

TEST(Theme, RampHasItsStops) {
  EXPECT_EQ(hex(sequential(Ground::light)[0]), "#e6eff4");
  EXPECT_EQ(hex(sequential(Ground::light)[255]), "#002155");
  EXPECT_EQ(hex(sequential(Ground::dark)[0]), "#1e2631");
  EXPECT_EQ(hex(sequential(Ground::dark)[255]), "#e1f4fe");
  // Entry 96 lies at 3 + 1/85 stops: #5da3c8 and a little of #188abb.
  EXPECT_EQ(hex(sequential(Ground::light)[96]), "#5ca3c8");
}

TEST(Theme, NumbersOnTheRampCanBeRead) {
  for (const Ground ground : {Ground::light, Ground::dark})
    for (int i = 0; i < 256; ++i)
      EXPECT_GE(contrast(sequential(ground)[i], text_on(ground, i)), 4.59) << i;
}

TEST(Theme, TextCanBeReadOnPaper) {
  for (const auto ink : {kInk, kInk2, kInk3, kBad})
    EXPECT_GE(contrast(ink, kPaper), 4.5) << hex(ink);
  for (const SeriesStyle& style : kSeries)
    EXPECT_GE(contrast(style.colour, kPaper), 3) << hex(style.colour);
}

TEST(Theme, SeriesDifferByDashToo) {
  for (std::size_t i = 0; i < kSeries.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_NE(kSeries[i].dash, kSeries[j].dash);
}

}  // namespace
}  // namespace qkv::plot
