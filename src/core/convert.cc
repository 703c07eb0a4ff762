#include "core/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/parallel.h"

namespace qkv {
namespace {

constexpr std::int64_t kGrain = 1 << 16;  // elements a thread takes at a time

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

// Truncates; what lies outside To's range goes to its nearer end, NaN to 0.
template <class To, class From>
To saturate(From value) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value)) return 0;
  if (value >= static_cast<From>(Limits::max())) return Limits::max();
  if (value <= static_cast<From>(Limits::min())) return Limits::min();
  return static_cast<To>(value);
}

template <class To, class From>
To cast(From from) {
  const auto value = widen(from);
  using Value = std::remove_const_t<decltype(value)>;
  if constexpr (std::is_same_v<To, From>)
    return from;
  else if constexpr (std::is_same_v<To, Bf16>)
    return {f32_to_bf16(static_cast<float>(value))};
  else if constexpr (std::is_same_v<To, F16>)
    return {f32_to_f16(static_cast<float>(value))};
  else if constexpr (std::is_same_v<To, bool>)
    return value != 0;
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Value>)
    return saturate<To>(value);
  else
    return static_cast<To>(value);
}

// The axes to walk, outermost first. Neighbours that both sides pass through in
// one stride are merged and axes of one element left out: a contiguous copy is
// a single axis.
struct Axes {
  int rank = 0;
  std::int64_t size[kMaxRank];
  std::int64_t from[kMaxRank], to[kMaxRank];  // strides

  Axes(const Shape& shape, const Strides& source, const Strides& target) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) continue;
      if (rank > 0 && from[rank - 1] == source[i] * shape[i] &&
          to[rank - 1] == target[i] * shape[i]) {
        size[rank - 1] *= shape[i];
      } else {
        size[rank++] = shape[i];
      }
      from[rank - 1] = source[i];
      to[rank - 1] = target[i];
    }
    if (rank == 0) {  // one element
      size[0] = from[0] = to[0] = 1;
      rank = 1;
    }
  }
};

template <class From, class To>
void copy_row(const From* source, std::int64_t from, To* target,
              std::int64_t to, std::int64_t n) {
  if (from == 1 && to == 1) {
    if constexpr (std::is_same_v<From, To>)
      std::memcpy(static_cast<void*>(target), source,
                  static_cast<std::size_t>(n) * sizeof(To));
    else
      for (std::int64_t i = 0; i < n; ++i) target[i] = cast<To>(source[i]);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i)
    target[i * to] = cast<To>(source[i * from]);
}

template <class From, class To>
void copy_axes(const From* source, To* target, const Axes& axes, int axis,
               std::int64_t n) {
  const std::int64_t from = axes.from[axis], to = axes.to[axis];
  if (axis + 1 == axes.rank) return copy_row(source, from, target, to, n);
  for (std::int64_t i = 0; i < n; ++i)
    copy_axes(source + i * from, target + i * to, axes, axis + 1,
              axes.size[axis + 1]);
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
  const Axes axes(shape, source_strides, target_strides);
  const std::int64_t inner = shape.numel() / axes.size[0];
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / inner);
  with_type(source_type, [&](auto from_type) {
    with_type(target_type, [&](auto to_type) {
      using From = decltype(from_type);
      using To = decltype(to_type);
      parallel_ranges(
          axes.size[0], grain, [&](std::int64_t begin, std::int64_t end) {
            copy_axes(static_cast<const From*>(source) + begin * axes.from[0],
                      static_cast<To*>(target) + begin * axes.to[0], axes, 0,
                      end - begin);
          });
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
