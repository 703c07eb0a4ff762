// The fused operations against those they stand for.
#include "ops/fused_linear.h"

#include <gtest/gtest.h>

#include "qkv/autograd.h"
#include "qkv/error.h"
#include "qkv/ops.h"
#include "qkv/runtime.h"
#include "tests/support/compare.h"

namespace qkv::test {
namespace {

struct Inputs {
  Tensor x, gamma, beta, weight, bias, residual;

  Inputs(Shape shape, std::int64_t out, DType dtype) {
    const std::int64_t in = shape.dim(-1);
    TorchRng rng(9);
    const auto fill = [&](Tensor& t, const Shape& size) {
      t = Tensor::empty(size, dtype);
      rng.randn(t);
      t.set_requires_grad();
    };
    fill(x, shape);
    fill(gamma, {in});
    fill(beta, {in});
    fill(weight, {out, in});
    fill(bias, {out});
    fill(residual, shape.with(-1, out));
  }
  std::vector<Tensor> all() const {
    return {x, gamma, beta, weight, bias, residual};
  }
};

const DropoutDraw kDraw{0.25, {11, 13}, 17};

struct Pair {
  const char* name;
  Tensor (*fused)(const Inputs&);
  Tensor (*apart)(const Inputs&);
};
const Pair kPairs[] = {
    {"norm_linear",
     [](const Inputs& i) {
       return norm_linear(i.x, {i.gamma, i.beta}, {i.weight, i.bias});
     },
     [](const Inputs& i) {
       return linear(layer_norm(i.x, i.gamma, i.beta), i.weight, i.bias);
     }},
    {"linear_residual",
     [](const Inputs& i) {
       return linear_residual(i.x, {i.weight, i.bias}, kDraw, i.residual);
     },
     [](const Inputs& i) {
       return add(i.residual, dropout(linear(i.x, i.weight, i.bias), kDraw.p,
                                      kDraw.rng, kDraw.stream));
     }},
    {"activation_linear_residual",
     [](const Inputs& i) {
       return activation_linear_residual(kernels::Activation::gelu_erf, i.x,
                                         {i.weight, i.bias}, kDraw, i.residual);
     },
     [](const Inputs& i) {
       return add(i.residual, dropout(linear(gelu_erf(i.x), i.weight, i.bias),
                                      kDraw.p, kDraw.rng, kDraw.stream));
     }},
};

TEST(FusedLinear, ForwardGivesTheBitsOfTheOperationsItStandsFor) {
  for (DType dtype : {DType::f32, DType::f64})
    for (const Shape& shape : {Shape{5, 7, 48}, Shape{700, 33}})
      for (const Pair& pair : kPairs) {
        SCOPED_TRACE(pair.name);
        const Inputs inputs(shape, 65, dtype);
        EXPECT_TRUE(same_bits(pair.fused(inputs), pair.apart(inputs)));
      }
}

TEST(FusedLinear, GradientsAgreeWithTheOperationsItStandsFor) {
  for (const Pair& pair : kPairs) {
    SCOPED_TRACE(pair.name);
    const Inputs fused({700, 33}, 65, DType::f64),
        apart({700, 33}, 65, DType::f64);
    const Tensor a = pair.fused(fused), b = pair.apart(apart);
    Tensor seed = Tensor::empty(a.shape(), DType::f64);
    TorchRng(3).randn(seed);
    backward_from(a, seed);
    backward_from(b, seed);
    for (std::size_t i = 0; i < 6; ++i) {
      SCOPED_TRACE(i);
      const Tensor expected = apart.all()[i].grad();
      ASSERT_EQ(bool(fused.all()[i].grad()), bool(expected));
      if (!expected) continue;
      EXPECT_TRUE(near(fused.all()[i].grad(), expected, 1e-12));
    }
  }
}

// As a residual stream: x goes into the operation, and around it. What came
// around it first is added to where it lies, which must show nowhere.
TEST(FusedLinear, AddsToWhatItsInputHasCollected) {
  for (const Pair& pair : kPairs) {
    SCOPED_TRACE(pair.name);
    const auto run = [&](Tensor (*f)(const Inputs&), bool keep) {
      Inputs inputs({40, 33}, 33, DType::f64);
      const Tensor leaf = inputs.x;
      inputs.x = scale(leaf, 2);
      const Tensor around = add(inputs.x, f(inputs));
      const Tensor total = sum(mul(around, around));
      backward(total, keep);
      if (keep) backward(total);
      return leaf.grad();
    };
    EXPECT_TRUE(near(run(pair.fused, false), run(pair.apart, false), 1e-12));
    // Twice over one graph: what was handed on the first time is intact.
    EXPECT_TRUE(near(run(pair.fused, true), run(pair.apart, true), 1e-12));
  }
}

// The same where rows are cut for several workers, each with a room of its own.
TEST(FusedLinear, WhatItsInputHasCollectedDoesNotDependOnTheThreads) {
  struct Restore {
    int threads = runtime::threads();
    ~Restore() { runtime::set_threads(threads); }
  } restore;
  for (const Pair& pair : kPairs) {
    SCOPED_TRACE(pair.name);
    const auto run = [&](int threads) {
      runtime::set_threads(threads);
      Inputs inputs({700, 65}, 65, DType::f32);
      const Tensor leaf = inputs.x;
      inputs.x = scale(leaf, 2);
      const Tensor around = add(inputs.x, pair.fused(inputs));
      backward(sum(mul(around, around)));
      return leaf.grad();
    };
    const Tensor one = run(1);
    for (int threads : {2, 3}) EXPECT_TRUE(same_bits(run(threads), one));
  }
}

TEST(FusedLinear, RefusesWhatDoesNotFit) {
  const Inputs i({4, 8}, 6, DType::f32);
  const auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message([&] {
              norm_linear(i.x, {}, {i.residual, {}});
            }),
            "[norm_linear] input (4,8) does not fit weight (4,6)");
  EXPECT_EQ(message([&] {
              linear_residual(i.x, {i.weight, i.bias}, {}, i.x);
            }),
            "[linear_residual] residual (4,8) does not fit input (4,8) and "
            "weight (6,8)");
  EXPECT_EQ(message([&] {
              linear_residual(i.x, {i.weight, i.bias}, {}, {});
            }),
            "[linear_residual] the residual is undefined");
  EXPECT_EQ(message([&] {
              linear_residual(i.x, {i.weight, i.bias}, {1.0}, i.residual);
            }),
            "[linear_residual] dropout must be at least 0 and below 1, not 1");
}

}  // namespace
}  // namespace qkv::test
