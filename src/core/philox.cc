#include "qkv/rng.h"

namespace qkv {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  auto [c0, c1, c2, c3] = counter;
  auto [k0, k1] = key;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiply0 * c0, p1 = kMultiply1 * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {c0, c1, c2, c3};
}

std::uint64_t stream_id(std::string_view path, std::uint64_t before) {
  for (unsigned char c : path) before = (before ^ c) * 0x100000001b3;
  return before;
}

std::array<std::uint32_t, 4> StepRng::draw(std::uint64_t stream,
                                           std::uint64_t index) const {
  const auto low = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x);
  };
  const auto high = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x >> 32);
  };
  return philox4x32(
      {low(index), high(index), low(step) ^ high(stream), low(stream)},
      {low(seed), high(seed) ^ high(step)});
}

float StepRng::uniform(std::uint64_t stream, std::uint64_t index) const {
  const std::uint32_t bits = draw(stream, index / 4)[index % 4];
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}

}  // namespace qkv
