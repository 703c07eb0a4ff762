// A stream of StepRng taken apart, for kernels that draw many numbers at once.
#pragma once

#include <cstdint>

#include "qkv/rng.h"

namespace qkv::kernels {

// Counter words 2 and 3 and the two key words of every draw of the stream;
// words 0 and 1 are the block's index, low and high.
struct PhiloxKey {
  std::uint32_t counter2, counter3, key0, key1;
};

inline PhiloxKey philox_key(const StepRng& rng, std::uint64_t stream) {
  const auto low = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x);
  };
  const auto high = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x >> 32);
  };
  return {low(rng.step) ^ high(stream), low(stream), low(rng.seed),
          high(rng.seed) ^ high(rng.step)};
}

}  // namespace qkv::kernels
