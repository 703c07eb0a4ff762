#include <gtest/gtest.h>

#include "qkv/autograd.h"
#include "qkv/ops.h"
#include "qkv/rng.h"
#include "qkv/runtime.h"

namespace qkv {
namespace {

struct Head {
  Tensor x = Tensor::empty({8, 64}), weight = Tensor::empty({2048, 64});
  Tensor targets = Tensor::full({8}, 3, DType::i64);

  Head() {
    TorchRng rng(1);
    rng.randn(x);
    rng.randn(weight);
    x.set_requires_grad(true);
    weight.set_requires_grad(true);
  }
  Tensor loss() { return head_loss(x, weight, {}, targets).mean; }
};

// A vocabulary's gradient is the largest tensor of many a step.
TEST(HeadLoss, HandsItsWeightGradientOnWithoutACopy) {
  Head head;
  const Tensor loss = head.loss();
  runtime::reset_peak_memory();
  const std::int64_t before = runtime::memory().peak;
  backward(loss);
  EXPECT_LT(runtime::memory().peak - before, 2048 * 64 * 4 / 2);
}

TEST(HeadLoss, KeepsItsGradientsWhileTheGraphIsKept) {
  Head head;
  backward(head.loss());
  const auto once = head.weight.grad().to_vector<float>();
  head.x.zero_grad();
  head.weight.zero_grad();
  const Tensor loss = head.loss();
  backward(loss, true);
  backward(loss);
  const auto twice = head.weight.grad().to_vector<float>();
  for (std::size_t i = 0; i < once.size(); ++i)
    ASSERT_EQ(twice[i], 2 * once[i]) << i;
}

}  // namespace
}  // namespace qkv
