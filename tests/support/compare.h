// The project's one rule for comparing numbers: |a - b| <= tolerance · max(1,
// max |b|), b the reference. A NaN on either side fails.
#pragma once

#include <gtest/gtest.h>

#include "qkv/tensor.h"

namespace qkv::test {

::testing::AssertionResult near(const Tensor& a, const Tensor& reference,
                                double tolerance);
// The same bits, the same shape and dtype.
::testing::AssertionResult same_bits(const Tensor& a, const Tensor& b);

}  // namespace qkv::test
