// What the kernels' tests share: awkward sizes, random numbers, every
// instruction set, the comparison.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "qkv/rng.h"
#include "qkv/runtime.h"
#include "tests/support/compare.h"

namespace qkv::kernels {

using std::int64_t;

// Around the vectors of both instruction sets (8 and 16 lanes), and four of
// them.
inline const std::vector<int64_t> kSizes = {1,  2,  3,  7,  8,  9,  15,  16,
                                            17, 31, 33, 63, 64, 65, 127, 129};

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Standard normal numbers, the same in both types.
template <class T>
std::vector<T> normals(int64_t n, std::uint64_t seed) {
  TorchRng rng(seed);
  Tensor t = Tensor::empty({n}, DType::f32);
  rng.randn(t);
  const std::vector<float> values = t.to_vector<float>();
  return {values.begin(), values.end()};
}

// Runs body once on each instruction set that this machine has.
template <class Body>
void on_each_set(Body body) {
  const std::string before = runtime::instruction_set();
  for (const std::string& set : runtime::instruction_sets()) {
    SCOPED_TRACE(set);
    runtime::set_instruction_set(set);
    body();
  }
  runtime::set_instruction_set(before);
}

// Runs body with 1, 2 and 3 threads.
template <class Body>
void with_threads(Body body) {
  const int before = runtime::threads();
  for (int threads : {1, 2, 3}) {
    SCOPED_TRACE(::testing::Message() << threads << " threads");
    runtime::set_threads(threads);
    body();
  }
  runtime::set_threads(before);
}

// The project's rule for comparing numbers, on vectors.
template <class A, class B>
::testing::AssertionResult near(const std::vector<A>& a,
                                const std::vector<B>& b, double tolerance) {
  return qkv::test::near(Tensor::from<A>({static_cast<int64_t>(a.size())}, a),
                         Tensor::from<B>({static_cast<int64_t>(b.size())}, b),
                         tolerance);
}

}  // namespace qkv::kernels
