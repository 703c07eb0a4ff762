#include "core/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "core/tensor_impl.h"

namespace qkv {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The value of a 16-bit float from its definition.
double value_of(std::uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double value;
  if (exponent == (1 << exponent_bits) - 1)
    value = mantissa ? kNaN : kInf;
  else if (exponent == 0)
    value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  else
    value = std::ldexp((1 << mantissa_bits) + mantissa,
                       exponent - bias - mantissa_bits);
  return bits & 0x8000 ? -value : value;
}

TEST(Convert, Every16BitFloatKeepsItsValueAndComesBack) {
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    for (bool bf16 : {true, false}) {
      const double expected = value_of(bits, bf16 ? 8 : 5);
      const float wide = bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
      const std::uint16_t back = bf16 ? f32_to_bf16(wide) : f32_to_f16(wide);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide)) << std::hex << i;
        ASSERT_TRUE(std::isnan(value_of(back, bf16 ? 8 : 5))) << std::hex << i;
      } else {
        ASSERT_EQ(wide, expected) << std::hex << i;
        ASSERT_EQ(back, bits) << std::hex << i;  // the sign of zero too
      }
    }
  }
}

TEST(Convert, EveryNaNStaysNaN) {
  // A payload in the low bits alone must not round to infinity.
  for (std::uint32_t bits : {0x7f800001u, 0x7f80ffffu, 0x7fffffffu, 0xff800001u,
                             0xffffffffu, 0x7fc00000u}) {
    const float nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(nan)))) << std::hex << bits;
    EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(nan)))) << std::hex << bits;
  }
}

TEST(Convert, RoundsAsTorchDoes) {
  std::ifstream file(QKV_SOURCE_DIR "/tests/golden/convert.txt");
  ASSERT_TRUE(file);
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    unsigned source = 0, bf16 = 0, f16 = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%x %x %x", &source, &bf16, &f16), 3);
    const float value = std::bit_cast<float>(source);
    EXPECT_EQ(f32_to_bf16(value), bf16) << line;
    EXPECT_EQ(f32_to_f16(value), f16) << line;
    ++compared;
  }
  EXPECT_GT(compared, 300);
}

TEST(Convert, BetweenAllTypesKeepsSmallIntegers) {
  constexpr DType kTypes[] = {DType::f32, DType::f64, DType::bf16,
                              DType::f16, DType::i64, DType::i32,
                              DType::u16, DType::u8,  DType::boolean};
  const std::vector<double> values{0, 1, 1, 0, 7, 100};
  const Tensor source = Tensor::from<double>({6}, values);
  for (DType from : kTypes)
    for (DType to : kTypes) {
      const bool flags = from == DType::boolean || to == DType::boolean;
      const auto got = source.to(from).to(to).to_vector<double>();
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(got[i], flags ? values[i] != 0 : values[i])
            << name_of(from) << " to " << name_of(to);
    }
}

TEST(Convert, FloatsOutsideAnIntegersRangeGoToItsEnd) {
  const Tensor x = Tensor::from<double>(
      {8}, {1e30, -1e30, kInf, -kInf, kNaN, 2.9, -2.9, 300});
  EXPECT_EQ(x.to(DType::i32).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{INT32_MAX, INT32_MIN, INT32_MAX,
                                       INT32_MIN, 0, 2, -2, 300}));
  EXPECT_EQ(x.to(DType::i64).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{INT64_MAX, INT64_MIN, INT64_MAX,
                                       INT64_MIN, 0, 2, -2, 300}));
  EXPECT_EQ(x.to(DType::f32).to(DType::u8).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{255, 0, 255, 0, 0, 2, 0, 255}));
}

TEST(Convert, BooleanIsWhetherItIsNotZero) {
  const Tensor x = Tensor::from<float>(
      {5}, {0.0f, -0.0f, 1e-45f, -3.0f, static_cast<float>(kNaN)});
  EXPECT_EQ(x.to(DType::boolean).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{0, 0, 1, 1, 1}));
}

// Against an index by index copy, over strides that merge and that do not.
TEST(Convert, WalksAnyStrides) {
  std::vector<float> numbers(7 * 6 * 5 * 4 * 3);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i);
  const Tensor base =
      Tensor::from<float>({static_cast<std::int64_t>(numbers.size())}, numbers);
  struct Case {
    Shape shape;
    Strides strides;
    std::int64_t offset;
  };
  const Case cases[] = {
      {{3, 4}, {4, 1}, 5},                 // contiguous
      {{4, 3}, {1, 4}, 0},                 // transposed
      {{2, 3, 4}, {100, 8, 2}, 1},         // gaps
      {{2, 1, 4}, {20, 999, 1}, 0},        // the stride of one element is moot
      {{5, 3}, {0, 1}, 2},                 // broadcast rows
      {{5, 3}, {1, 0}, 2},                 // broadcast columns
      {{3, 4, 2, 5}, {4, 1, 120, 12}, 0},  // permuted
      {{2, 3, 2, 3, 2, 3}, {360, 120, 60, 20, 10, 1}, 3},
      {{}, {}, 17},
      {{2, 0, 3}, {3, 3, 1}, 0},
  };
  for (const Case& c : cases) {
    const Tensor view = view_of(base, c.shape, c.strides, c.offset);
    std::vector<double> expected;
    std::vector<std::int64_t> index(c.shape.rank(), 0);
    for (std::int64_t n = 0; n < c.shape.numel(); ++n) {
      std::int64_t at = c.offset;
      for (int i = 0; i < c.shape.rank(); ++i) at += index[i] * c.strides[i];
      expected.push_back(static_cast<double>(numbers[at]));
      for (int i = c.shape.rank() - 1; i >= 0 && ++index[i] == c.shape[i]; --i)
        index[i] = 0;
    }
    EXPECT_EQ(view.to_vector<double>(), expected) << c.shape.str();
    const Tensor copy = view.clone();
    EXPECT_TRUE(copy.contiguous());
    EXPECT_EQ(copy.to_vector<double>(), expected) << c.shape.str();
    // And into a strided target: a transposed view of new memory.
    if (c.shape.rank() == 2) {
      Tensor room = Tensor::zeros({c.shape[1], c.shape[0]}, DType::f64);
      Tensor target = view_of(room, c.shape, {1, c.shape[0]});
      target.copy_from(view);
      EXPECT_EQ(target.to_vector<double>(), expected) << c.shape.str();
    }
  }
}

TEST(Convert, ALargeCopyThatThreadsShareIsWhole) {
  const std::int64_t rows = 700, columns = 513;
  Tensor x = Tensor::empty({rows, columns});
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data<float>()[i] = static_cast<float>(i % 8191);
  const Tensor same = x.clone(), wide = x.to(DType::f64);
  const Tensor turned = view_of(x, {columns, rows}, {1, columns}).clone();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const float value = x.data<float>()[r * columns + c];
      ASSERT_EQ(same.data<float>()[r * columns + c], value);
      ASSERT_EQ(wide.data<double>()[r * columns + c], value);
      ASSERT_EQ(turned.data<float>()[c * rows + r], value);
    }
}

}  // namespace
}  // namespace qkv
