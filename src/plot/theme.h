// The colours, line dashes and typefaces of every picture, in one place.
//
// The sequential ramp goes from a pale tint (zero; paper itself means hidden)
// to near black by even steps of lightness, so that its order survives grey
// print and colour blindness; on a dark ground it runs the other way.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace qkv::plot {

struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

enum class Ground { light, dark };

std::string hex(Rgb colour);  // "#05a0ff"
constexpr Rgb rgb(std::string_view hex) {
  const auto digit = [hex](int i) {
    return hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10;
  };
  const auto byte = [&](int i) {
    return static_cast<std::uint8_t>(16 * digit(i) + digit(i + 1));
  };
  return {byte(1), byte(3), byte(5)};
}

// 256 colours for amounts 0…1.
const std::array<Rgb, 256>& sequential(Ground ground);
// Black or white, whichever reads better on entry `index` of that ramp.
Rgb text_on(Ground ground, int index);

// On white paper.
inline constexpr Rgb kPaper = rgb("#ffffff");
inline constexpr Rgb kInk = rgb("#1b1b19");   // text
inline constexpr Rgb kInk2 = rgb("#55534d");  // labels, titles
inline constexpr Rgb kInk3 = rgb("#6e6b64");  // ticks
inline constexpr Rgb kEdge = rgb("#86827a");  // axes
inline constexpr Rgb kRule = rgb("#dedbd3");  // grid lines, frames
inline constexpr Rgb kBad = rgb("#b3261e");   // NaN; always with a word

// Lengths of ink and gap in points, repeated; all zero: a full line.
using Dash = std::array<double, 4>;

struct SeriesStyle {
  Rgb colour;
  Dash dash;
};
// Told apart by dash as well as by colour.
inline constexpr std::array<SeriesStyle, 6> kSeries = {
    {{rgb("#137dba"), {}},
     {rgb("#d47a33"), {6, 3, 6, 3}},
     {rgb("#4e138f"), {2, 2, 2, 2}},
     {rgb("#253d3c"), {8, 3, 2, 3}},
     {rgb("#8d767c"), {1, 3, 1, 3}},
     {rgb("#773b09"), {12, 4, 12, 4}}}};

inline constexpr std::string_view kSans =
    "Helvetica, Arial, Liberation Sans, sans-serif";
inline constexpr std::string_view kMono =
    "DejaVu Sans Mono, Menlo, Consolas, monospace";
inline constexpr double kTextSize = 7;   // points
inline constexpr double kTitleSize = 8;  // points

}  // namespace qkv::plot
