#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "qkv/error.h"
#include "qkv/optim.h"

namespace qkv::optim {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor parameter(std::vector<float> grad) {
  Tensor x = Tensor::zeros({static_cast<std::int64_t>(grad.size())});
  x.set_requires_grad();
  x.set_grad(Tensor::from<float>(x.shape(), grad));
  return x;
}

TEST(GradNorm, IsGlobalAndClipsAllAlike) {
  // Two groups of norms 3 and 4.
  const Tensor a = parameter({3, 0}), b = parameter({0, 0, -4});
  const std::vector<Parameter> all{{"a", a}, {"b", b}};
  EXPECT_EQ(grad_norm(all), 5);
  EXPECT_NEAR(clip_scale(5, 1), 0.2, 1e-7);
  EXPECT_EQ(clip_grad_norm(all, 1), 5);
  EXPECT_NEAR(a.grad().to_vector<float>()[0], 0.6, 1e-6);
  EXPECT_NEAR(b.grad().to_vector<float>()[2], -0.8, 1e-6);
  EXPECT_NEAR(grad_norm(all), 1, 1e-6);
  // Below the limit, and without one, nothing changes.
  const auto before = a.grad().to_vector<float>();
  clip_grad_norm(all, 2);
  clip_grad_norm(all, 0);
  EXPECT_EQ(a.grad().to_vector<float>(), before);
  EXPECT_THROW(clip_grad_norm(all, -1), Error);
}

TEST(GradNorm, CountsATiedParameterOnce) {
  Tensor shared = Tensor::zeros({2, 2});
  shared.set_requires_grad();
  shared.set_grad(Tensor::from<float>({2, 2}, {1, 2, 2, 4}));
  const auto tied = parameters_of(
      {{"wte.weight", shared}, {"lm_head.weight", shared}}, DecayRule::all);
  EXPECT_EQ(grad_norm(tied), 5);
  clip_grad_norm(tied, 2.5);  // scaled once, not twice
  EXPECT_NEAR(shared.grad().to_vector<float>()[3], 2, 1e-6);
}

TEST(GradNorm, ZeroGradientsStayZero) {
  const Tensor a = parameter({0, 0, 0});
  EXPECT_EQ(clip_grad_norm({{"a", a}}, 1), 0);
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(clip_scale(0, 1), 1);
}

TEST(GradNorm, IsSummedInDouble) {
  // In f32 the squares of 1e20 overflow, those of 1e-30 vanish, and a small
  // number beside many disappears.
  EXPECT_NEAR(grad_norm({{"a", parameter({1e20f, 1e20f})}}),
              std::sqrt(2) * 1e20, 1e14);
  EXPECT_NEAR(grad_norm({{"a", parameter({3e-30f, 4e-30f})}}), 5e-30, 1e-36);
  std::vector<float> many(100000, 1e-4f);
  many[0] = 1;
  EXPECT_NEAR(grad_norm({{"a", parameter(many)}}), std::sqrt(1 + 99999e-8),
              1e-9);
}

TEST(GradNorm, ANonFiniteOneIsReportedAndNothingChanged) {
  for (float bad : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
    const Tensor a = parameter({1, 2}), b = parameter({3, bad, 5});
    const std::vector<Parameter> all{{"a", a}, {"b", b}};
    EXPECT_FALSE(std::isfinite(clip_grad_norm(all, 1)));
    EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{1, 2}));
    EXPECT_EQ(b.grad().to_vector<float>()[2], 5);
    EXPECT_THROW(clip_scale(grad_norm(all), 1), Error);
  }
}

TEST(GradNorm, ParametersWithoutGradientDoNotCount) {
  Tensor without = Tensor::zeros({3});
  without.set_requires_grad();
  EXPECT_EQ(grad_norm({{"a", parameter({3, 4})}, {"b", without}}), 5);
}

}  // namespace
}  // namespace qkv::optim
