// Copies numbers between element types and strides.
#pragma once

#include "qkv/dtype.h"
#include "qkv/shape.h"
#include "qkv/tensor.h"

namespace qkv {

// Every element of shape, from source to target, which do not overlap. bf16 and
// f16 round to nearest even, f64 by way of f32. Floats go to integers by
// truncation, to the nearer end when out of range, NaN to 0; wide integers lose
// their high bits in narrow ones; to boolean goes whether it is != 0.
void convert(const void* source, DType source_type, const Shape& shape,
             const Strides& source_strides, void* target, DType target_type,
             const Strides& target_strides);

float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);

}  // namespace qkv
