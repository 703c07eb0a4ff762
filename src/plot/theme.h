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
Rgb rgb(std::string_view hex);

// 256 colours for amounts 0…1.
const std::array<Rgb, 256>& sequential(Ground ground);
// Black or white, whichever reads better on entry `index` of that ramp.
Rgb text_on(Ground ground, int index);

// On white paper.
inline constexpr std::string_view kPaper = "#ffffff";
inline constexpr std::string_view kInk = "#1b1b19";   // text
inline constexpr std::string_view kInk2 = "#55534d";  // labels, titles
inline constexpr std::string_view kInk3 = "#6e6b64";  // ticks
inline constexpr std::string_view kEdge = "#86827a";  // axes
inline constexpr std::string_view kRule = "#dedbd3";  // grid lines, frames
inline constexpr std::string_view kBad = "#b3261e";   // NaN; always with a word

struct SeriesStyle {
  std::string_view colour;
  std::string_view dash;  // stroke-dasharray in points; "" is a full line
};
// Told apart by dash as well as by colour.
inline constexpr std::array<SeriesStyle, 6> kSeries = {{{"#137dba", ""},
                                                        {"#d47a33", "6 3"},
                                                        {"#4e138f", "2 2"},
                                                        {"#253d3c", "8 3 2 3"},
                                                        {"#8d767c", "1 3"},
                                                        {"#773b09", "12 4"}}};

inline constexpr std::string_view kSans =
    "Helvetica, Arial, Liberation Sans, sans-serif";
inline constexpr std::string_view kMono =
    "DejaVu Sans Mono, Menlo, Consolas, monospace";
inline constexpr double kTextSize = 7;   // points
inline constexpr double kTitleSize = 8;  // points

}  // namespace qkv::plot
