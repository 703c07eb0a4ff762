// Element types of a Tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "qkv/export.h"

namespace qkv {

// f32 and f64 compute; bf16 and f16 are storage only (Tensor::to converts);
// the integers hold ids, and boolean (one byte, 0 or 1) holds masks.
enum class DType : std::uint8_t {
  f32,
  f64,
  bf16,
  f16,
  i64,
  i32,
  u16,
  u8,
  boolean
};

QKV_API std::size_t size_of(DType dtype);       // bytes of one element
QKV_API std::string_view name_of(DType dtype);  // "f32", …, "bool"
QKV_API bool is_floating(DType dtype);          // f32, f64, bf16, f16

// The C++ type of the elements, where there is one.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};

}  // namespace qkv
