#include "plot/axis.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace qkv::plot {
namespace {

Ticks linear_ticks(const Axis& axis, double spacing) {
  const double per_point =
      (axis.high - axis.low) / std::abs(axis.to - axis.from);
  const double least = per_point * spacing;
  int exponent = static_cast<int>(std::floor(std::log10(least)));
  double step = 0;
  for (const double factor : {1, 2, 5, 10}) {
    step = factor * std::pow(10, exponent);
    if (factor == 10) ++exponent;
    if (step >= least * (1 - 1e-9)) break;
  }
  Ticks result{{}, std::max(0, -exponent)};
  const double slack = 1e-9 * step;
  for (double i = std::ceil((axis.low - slack) / step);
       i * step <= axis.high + slack; ++i)
    result.values.push_back(i * step);
  return result;
}

// All of 1, 2, 5 · 10ⁿ where they fit, else 1 · 10ⁿ, else every second, third….
Ticks log_ticks(const Axis& axis, double spacing) {
  const double decade =
      std::abs(axis.to - axis.from) / std::log10(axis.high / axis.low);
  const bool dense = decade * std::log10(2.0) >= spacing;
  const int every = std::max(1, static_cast<int>(std::ceil(spacing / decade)));
  Ticks result;
  for (int n = static_cast<int>(std::floor(std::log10(axis.low)));; ++n) {
    for (const double factor : {1, 2, 5}) {
      if (factor != 1 && !dense) continue;
      const double value = factor * std::pow(10, n);
      if (value > axis.high * (1 + 1e-9)) return result;
      if (value < axis.low * (1 - 1e-9) || n % every != 0) continue;
      result.values.push_back(value);
      result.decimals = std::max(result.decimals, -n);
    }
  }
}

}  // namespace

double Axis::at(double value) const {
  const double v = std::clamp(value, low, high);
  const double t =
      log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
  return from + t * (to - from);
}

Ticks ticks(const Axis& axis, double spacing) {
  return axis.log ? log_ticks(axis, spacing) : linear_ticks(axis, spacing);
}

}  // namespace qkv::plot
