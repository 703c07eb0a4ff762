// From values to places along an axis, and the values worth a tick.
#pragma once

#include <vector>

namespace qkv::plot {

struct Axis {
  double low = 0, high = 1;  // values, low < high; on a log axis 0 < low
  double from = 0, to = 1;   // their places, in points; y axes run upwards
  bool log = false;

  double at(double value) const;  // clamped to the axis
};

struct Ticks {
  std::vector<double> values;
  int decimals = 0;  // that their labels need
};

// Round values (1, 2, 5 · 10ⁿ), at least `spacing` points apart.
Ticks ticks(const Axis& axis, double spacing);

}  // namespace qkv::plot
