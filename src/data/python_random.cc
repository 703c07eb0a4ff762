#include "data/python_random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace qkv::data {
namespace {

// MT19937's state for a seed given as an array of one word (Matsumoto and
// Nishimura 2002, init_by_array), as TorchRng takes it: 624 words, and the
// place of the next one.
TorchRng seeded(std::uint32_t seed) {
  constexpr int kWords = 624;
  std::array<std::uint32_t, kWords> mt;
  mt[0] = 19650218;
  for (std::uint32_t i = 1; i < kWords; ++i)
    mt[i] = 1812433253 * (mt[i - 1] ^ mt[i - 1] >> 30) + i;
  int i = 1;
  const auto mix = [&](std::uint32_t factor, std::uint32_t added) {
    mt[i] = (mt[i] ^ (mt[i - 1] ^ mt[i - 1] >> 30) * factor) + added;
    if (++i == kWords) {
      mt[0] = mt[kWords - 1];
      i = 1;
    }
  };
  for (int k = 0; k < kWords; ++k) mix(1664525, seed);
  for (int k = 0; k < kWords - 1; ++k)
    mix(1566083941, -static_cast<std::uint32_t>(i));
  mt[0] = 0x80000000;
  TorchRng rng(0);
  std::vector<std::uint32_t> state = rng.state();
  std::copy(mt.begin(), mt.end(), state.begin());
  rng.set_state(state);
  return rng;
}

}  // namespace

std::vector<std::int64_t> python_shuffle(std::uint32_t seed, std::int64_t n) {
  TorchRng rng = seeded(seed);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = n - 1; i >= 1; --i) {
    // As many bits as i + 1 has, drawn until they are not above i.
    const int bits = std::bit_width(static_cast<std::uint64_t>(i + 1));
    std::int64_t j;
    do j = rng.u32() >> (32 - bits);
    while (j > i);
    std::swap(order[i], order[j]);
  }
  return order;
}

}  // namespace qkv::data
