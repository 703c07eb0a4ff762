// CPython's random.Random, as far as the lectures shuffle with it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "qkv/rng.h"

namespace qkv::data {

// random.seed(seed); random.shuffle(range(n)): MT19937 seeded by
// init_by_array([seed]), each place swapped with a random one before it.
// seed below 2^32.
std::vector<std::int64_t> python_shuffle(std::uint32_t seed, std::int64_t n);

}  // namespace qkv::data
