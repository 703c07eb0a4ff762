// Gradients against central differences, in f64.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "qkv/tensor.h"

namespace qkv::test {

// f maps the inputs to one tensor. Its backward, seeded with fixed random
// numbers, is held against (L(x + ε) - L(x - ε)) / 2ε, L the sum of output
// times seed, ε = 1e-6, for up to 200 elements of every floating input (30
// where the inputs have more than 10,000 together): |a - b| <= 1e-5 + 1e-3·|b|.
// Fails, too, when more than nine tenths of all gradients that were compared
// are zero: that would prove nothing.
::testing::AssertionResult gradients_match(
    const std::function<Tensor(const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& inputs, bool sparse = false);

}  // namespace qkv::test
