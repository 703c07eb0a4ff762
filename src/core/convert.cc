#include "core/convert.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace qkv {
namespace {

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

template <class From>
auto widen(From value) {
  if constexpr (std::is_same_v<From, Bf16>)
    return bf16_to_f32(value.bits);
  else if constexpr (std::is_same_v<From, F16>)
    return f16_to_f32(value.bits);
  else
    return value;
}

template <class To, class From>
To cast(From from) {
  const auto value = widen(from);
  if constexpr (std::is_same_v<To, From>)
    return from;
  else if constexpr (std::is_same_v<To, Bf16>)
    return {f32_to_bf16(static_cast<float>(value))};
  else if constexpr (std::is_same_v<To, F16>)
    return {f32_to_f16(static_cast<float>(value))};
  else if constexpr (std::is_same_v<To, bool>)
    return value != 0;
  else
    return static_cast<To>(value);
}

template <class From, class To>
void copy_loop(const From* source, To* target, const Shape& shape,
               const Strides& from, const Strides& to, int axis) {
  if (axis == shape.rank()) {
    *target = cast<To>(*source);
    return;
  }
  const std::int64_t n = shape[axis];
  if (axis + 1 == shape.rank()) {
    if (std::is_same_v<From, To> && from[axis] == 1 && to[axis] == 1) {
      std::memcpy(static_cast<void*>(target), source,
                  static_cast<std::size_t>(n) * sizeof(To));
      return;
    }
    for (std::int64_t i = 0; i < n; ++i)
      target[i * to[axis]] = cast<To>(source[i * from[axis]]);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i)
    copy_loop(source + i * from[axis], target + i * to[axis], shape, from, to,
              axis + 1);
}

template <class F>
void with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::bf16:
      return f(Bf16{});
    case DType::f16:
      return f(F16{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u16:
      return f(std::uint16_t{});
    case DType::u8:
      return f(std::uint8_t{});
    case DType::boolean:
      return f(bool{});
  }
}

}  // namespace

void convert(const void* source, DType source_type, const Shape& shape,
             const Strides& source_strides, void* target, DType target_type,
             const Strides& target_strides) {
  if (shape.numel() == 0) return;
  with_type(source_type, [&](auto from) {
    with_type(target_type, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      copy_loop(static_cast<const From*>(source), static_cast<To*>(target),
                shape, source_strides, target_strides, 0);
    });
  });
}

float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t f32_to_bf16(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  bits += 0x7fff + ((bits >> 16) & 1);  // to nearest, ties to even
  return static_cast<std::uint16_t>(bits >> 16);
}

float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) |
                              (mantissa << 13));
}

std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<std::uint16_t>(sign | 0x7e00);  // NaN
  if (magnitude >= 0x477ff000)  // 65520 and above round to infinity
    return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {  // below 2^-14: subnormal, units of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<std::uint16_t>(
        sign | static_cast<std::uint16_t>(std::nearbyint(scaled)));
  }
  const std::uint32_t rounded =
      magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

}  // namespace qkv
