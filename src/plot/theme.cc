#include "plot/theme.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qkv::plot {
namespace {

using Stops = std::array<std::string_view, 9>;

constexpr Stops kLight = {"#e6eff4", "#bad6e5", "#8dbcd6", "#5da3c8", "#188abb",
                          "#056ea1", "#015487", "#023a6c", "#002155"};
constexpr Stops kDark = {"#1e2631", "#243d56", "#25567f", "#216fa6", "#268bc7",
                         "#50a6db", "#7fc1e8", "#b1daf2", "#e1f4fe"};

// Linear between the stops in sRGB bytes, half rounded up.
std::array<Rgb, 256> ramp(const Stops& stops) {
  std::array<Rgb, 256> colours;
  for (int i = 0; i < 256; ++i) {
    const double position = i / 255.0 * (stops.size() - 1);
    const int low = std::min(static_cast<int>(position),
                             static_cast<int>(stops.size()) - 2);
    const double t = position - low;
    const Rgb a = rgb(stops[low]), b = rgb(stops[low + 1]);
    const auto mix = [t](int from, int to) {
      return static_cast<std::uint8_t>(std::floor(from + t * (to - from) + .5));
    };
    colours[i] = {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
  }
  return colours;
}

}  // namespace

std::string hex(Rgb colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.r, colour.g, colour.b);
}

const std::array<Rgb, 256>& sequential(Ground ground) {
  static const std::array<Rgb, 256> light = ramp(kLight), dark = ramp(kDark);
  return ground == Ground::light ? light : dark;
}

Rgb text_on(Ground ground, int index) {
  // Where the contrast of white passes that of black on each ramp.
  const bool white = ground == Ground::light ? index >= 142 : index < 110;
  return white ? Rgb{255, 255, 255} : Rgb{0, 0, 0};
}

}  // namespace qkv::plot
