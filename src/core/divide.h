// Whole numbers of parts.
#pragma once

#include <cstdint>

namespace qkv {

// n / part, rounded up; part > 0.
inline std::int64_t ceil_div(std::int64_t n, std::int64_t part) {
  return (n + part - 1) / part;
}
// n, rounded up to a multiple of step > 0.
inline std::int64_t round_up(std::int64_t n, std::int64_t step) {
  return ceil_div(n, step) * step;
}

}  // namespace qkv
