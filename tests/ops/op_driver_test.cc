// What every case of every operation has to pass.
#include <gtest/gtest.h>

#include "qkv/autograd.h"
#include "qkv/runtime.h"
#include "tests/cases/op_case.h"
#include "tests/support/compare.h"
#include "tests/support/gradcheck.h"

namespace qkv::test {
namespace {

using runtime::Path;

// The output and the gradients of one run.
struct Outcome {
  Tensor output;
  std::vector<Tensor> gradients;  // undefined for ids
};

std::vector<Tensor> make_inputs(const OpCase& c, DType dtype) {
  TorchRng rng(42);
  return c.inputs(dtype, rng);
}

Outcome run(const OpCase& c, std::vector<Tensor> inputs, Path path) {
  runtime::UsePath use(path);
  for (Tensor& x : inputs)
    if (is_floating(x.dtype()) && c.differentiable) x.set_requires_grad();
  Outcome outcome;
  outcome.output = c.run(inputs);
  if (!c.differentiable) return outcome;
  TorchRng rng(7);
  Tensor seed = Tensor::empty(outcome.output.shape(), DType::f64);
  rng.uniform(seed, 0.5, 1.5);
  backward_from(outcome.output, seed.to(DType::f32).to(outcome.output.dtype()));
  for (Tensor& x : inputs) outcome.gradients.push_back(x.grad());
  return outcome;
}

// Restores what a test changed for the whole process.
struct Restore {
  int threads = runtime::threads();
  std::string set = runtime::instruction_set();
  ~Restore() {
    runtime::set_threads(threads);
    runtime::set_instruction_set(set);
    runtime::set_poison(false);
  }
};

class EveryOp : public ::testing::TestWithParam<std::size_t> {
 protected:
  const OpCase& op_case() const { return op_cases()[GetParam()]; }
};

TEST_P(EveryOp, GradientsMatchDifferences) {
  if (!op_case().differentiable) GTEST_SKIP() << "not differentiable";
  EXPECT_TRUE(gradients_match(op_case().run, make_inputs(op_case(), DType::f64),
                              op_case().sparse_gradients));
}

TEST_P(EveryOp, FastF32MatchesReferenceF64OnEveryInstructionSet) {
  const OpCase& c = op_case();
  const Outcome expected = run(c, make_inputs(c, DType::f64), Path::reference);
  Restore restore;
  for (const std::string& set : runtime::instruction_sets()) {
    SCOPED_TRACE(set);
    runtime::set_instruction_set(set);
    const Outcome got = run(c, make_inputs(c, DType::f32), Path::automatic);
    EXPECT_TRUE(near(got.output, expected.output, c.tolerance));
    for (std::size_t i = 0; i < got.gradients.size(); ++i)
      if (expected.gradients[i]) {
        SCOPED_TRACE("gradient of input " + std::to_string(i));
        EXPECT_TRUE(near(got.gradients[i], expected.gradients[i], c.tolerance));
      }
  }
}

TEST_P(EveryOp, ReferenceF32MatchesReferenceF64) {
  const OpCase& c = op_case();
  const Outcome expected = run(c, make_inputs(c, DType::f64), Path::reference);
  const Outcome got = run(c, make_inputs(c, DType::f32), Path::reference);
  EXPECT_TRUE(near(got.output, expected.output, c.tolerance));
  for (std::size_t i = 0; i < got.gradients.size(); ++i)
    if (expected.gradients[i]) {
      EXPECT_TRUE(near(got.gradients[i], expected.gradients[i], c.tolerance));
    }
}

TEST_P(EveryOp, StridedInputsGiveTheSameBits) {
  const OpCase& c = op_case();
  if (!c.strided_variant) GTEST_SKIP() << "the case is about strides itself";
  for (DType dtype : {DType::f32, DType::f64}) {
    const Outcome expected = run(c, make_inputs(c, dtype), Path::automatic);
    std::vector<Tensor> gapped;
    for (const Tensor& x : make_inputs(c, dtype))
      gapped.push_back(with_gaps(x));
    const Outcome got = run(c, gapped, Path::automatic);
    EXPECT_TRUE(same_bits(got.output, expected.output));
    for (std::size_t i = 0; i < got.gradients.size(); ++i)
      if (expected.gradients[i]) {
        EXPECT_TRUE(same_bits(got.gradients[i], expected.gradients[i]));
      }
  }
}

TEST_P(EveryOp, UnwrittenMemoryIsNeverRead) {
  const OpCase& c = op_case();
  const Outcome expected = run(c, make_inputs(c, DType::f32), Path::automatic);
  Restore restore;
  runtime::set_poison(true);
  const Outcome got = run(c, make_inputs(c, DType::f32), Path::automatic);
  EXPECT_TRUE(same_bits(got.output, expected.output));
  for (std::size_t i = 0; i < got.gradients.size(); ++i)
    if (expected.gradients[i]) {
      EXPECT_TRUE(same_bits(got.gradients[i], expected.gradients[i]));
    }
}

TEST_P(EveryOp, ThreadsChangeNoBit) {
  const OpCase& c = op_case();
  Restore restore;
  runtime::set_threads(1);
  const Outcome one = run(c, make_inputs(c, DType::f32), Path::automatic);
  for (int threads : {2, 3}) {
    runtime::set_threads(threads);
    const Outcome many = run(c, make_inputs(c, DType::f32), Path::automatic);
    EXPECT_TRUE(same_bits(many.output, one.output));
    for (std::size_t i = 0; i < many.gradients.size(); ++i)
      if (one.gradients[i]) {
        EXPECT_TRUE(same_bits(many.gradients[i], one.gradients[i]));
      }
  }
}

std::vector<std::size_t> all_indices() {
  std::vector<std::size_t> indices(op_cases().size());
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  return indices;
}

INSTANTIATE_TEST_SUITE_P(Cases, EveryOp, ::testing::ValuesIn(all_indices()),
                         [](const auto& info) {
                           const OpCase& c = op_cases()[info.param];
                           return c.op + "_" + c.label;
                         });

}  // namespace
}  // namespace qkv::test
