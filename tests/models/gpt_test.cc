#include <gtest/gtest.h>

#include "qkv/attention.h"
#include "qkv/autograd.h"
#include "qkv/error.h"
#include "qkv/model.h"
#include "qkv/train.h"
#include "tests/cases/op_case.h"
#include "tests/support/compare.h"
#include "tests/support/gradcheck.h"

namespace qkv {
namespace {

using test::near;
using test::random_ids;
using test::same_bits;

GptConfig small() {
  return {.vocab_size = 7,
          .block_size = 24,
          .n_layer = 2,
          .n_head = 2,
          .n_embd = 8};
}

std::int64_t parameters_of_preset(const char* name, std::int64_t vocab) {
  TrainConfig train;
  auto config = apply_preset(preset(name), train);
  if (vocab > 0) config->set_vocab_size(vocab);
  nn::SkipInit skip;
  return config->make()->parameter_count();
}

TEST(Gpt, ParameterCountsOfThePublishedModels) {
  EXPECT_EQ(parameters_of_preset("makemore", 27), 204544);
  EXPECT_EQ(parameters_of_preset("nanogpt-cpu", 65), 804096);
  EXPECT_EQ(parameters_of_preset("shakespeare-char", 65), 10745088);
  EXPECT_EQ(parameters_of_preset("ng-video", 65), 10788929);
  EXPECT_EQ(parameters_of_preset("gpt2", 0), 124439808);
  EXPECT_EQ(parameters_of_preset("gpt2-medium", 0), 354823168);
}

TEST(Gpt, GradientsOfTheWholeModelMatchDifferences) {
  for (const bool tied : {false, true}) {
    GptConfig config = small();
    config.tied_head = tied;
    config.attn_dropout = config.embd_dropout = config.resid_dropout = 0.2;
    nn::manual_seed(5);
    auto model = make_gpt(config);
    model->to(DType::f64);
    TorchRng rng(3);
    const Tensor ids = random_ids({2, 5}, 7, rng);
    const Tensor targets = random_ids({2, 5}, 7, rng);
    std::vector<Tensor> inputs;
    std::vector<std::string> names;
    for (const auto& p : model->parameters()) {
      if (tied && p.name == "lm_head.weight") continue;
      inputs.push_back(p.tensor);
      names.push_back(p.name);
    }
    // The check perturbs copies: the model takes their values for each call,
    // and its parameters' history goes through the copies.
    const StepRng step{.seed = 9, .step = 4};
    const auto loss = [&](const std::vector<Tensor>& values) {
      auto fresh = make_gpt(config);
      fresh->to(DType::f64);
      std::map<std::string, Tensor> weights;
      for (std::size_t i = 0; i < names.size(); ++i)
        weights[names[i]] = values[i];
      fresh->load(weights);
      Context context{.training = true, .rng = &step};
      Loss result = fresh->loss(ids, targets, context);
      if (!grad_enabled()) return result.mean;
      backward(result.mean);
      std::vector<Tensor> gradients;
      for (const auto& p : fresh->parameters())
        if (!(tied && p.name == "lm_head.weight"))
          gradients.push_back(p.tensor.grad());
      return custom_op("model", result.mean.detach(), values,
                       [gradients](const Tensor& g) {
                         std::vector<Tensor> scaled;
                         for (const Tensor& gradient : gradients)
                           scaled.push_back(scale(gradient, g.item()));
                         return scaled;
                       });
    };
    EXPECT_TRUE(test::gradients_match(loss, inputs));
  }
}

TEST(Gpt, CachedGenerationSeesWhatTheWholeForwardSees) {
  nn::manual_seed(1);
  auto model = make_gpt(small());
  TorchRng rng(3);
  const Tensor ids = random_ids({1, 24}, 7, rng);
  NoGrad no_grad;
  Context plain;
  const Tensor whole = model->logits(ids, plain);
  auto state = model->new_state(1);
  state->active = {0};
  Context cached{.state = state.get()};
  const Tensor first = model->logits(slice(ids, 1, 0, 17), cached);
  EXPECT_TRUE(near(first, slice(whole, 1, 0, 17), 1e-5));
  for (std::int64_t t = 17; t < 24; ++t)
    EXPECT_TRUE(near(model->logits(slice(ids, 1, t, t + 1), cached),
                     slice(whole, 1, t, t + 1), 1e-5));
  EXPECT_EQ(state->length(0), 24);
  EXPECT_THROW(model->logits(slice(ids, 1, 0, 1), cached), Error);
}

TEST(Gpt, ASequencesBitsDoNotDependOnItsNeighbours) {
  nn::manual_seed(1);
  auto model = make_gpt(small());
  TorchRng rng(3);
  const Tensor ids = random_ids({3, 4}, 7, rng);
  NoGrad no_grad;
  auto state = model->new_state(3);
  Context context{.state = state.get()};
  std::vector<Tensor> alone;
  for (int b = 0; b < 3; ++b) {
    state->active = {b};
    alone.push_back(model->logits(slice(ids, 0, b, b + 1), context));
    state->clear(b);
  }
  state->active = {2, 0, 1};
  const Tensor order = concat({slice(ids, 0, 2, 3), slice(ids, 0, 0, 2)}, 0);
  const Tensor together = model->logits(order, context);
  EXPECT_TRUE(same_bits(slice(together, 0, 0, 1), alone[2]));
  EXPECT_TRUE(same_bits(slice(together, 0, 1, 2), alone[0]));
  EXPECT_TRUE(same_bits(slice(together, 0, 2, 3), alone[1]));
}

TEST(Gpt, LossIsThatOfItsLogits) {
  nn::manual_seed(1);
  auto model = make_gpt(small());
  TorchRng rng(3);
  const Tensor ids = random_ids({2, 9}, 7, rng);
  const Tensor targets = random_ids({2, 9}, 7, rng);
  Context context;
  EXPECT_TRUE(near(model->loss(ids, targets, context).mean,
                   cross_entropy(model->logits(ids, context), targets).mean,
                   1e-6));
}

// A tap that scales the attention weights of one head to 0 must give what
// zeroing that head's output gives.
struct ZeroHead final : Tap {
  bool wants(Site site) const override {
    return site.layer == 0 && site.name == "attn.weights";
  }
  Tensor at(Site, Tensor value) override {
    Tensor changed = value.clone();
    slice(changed, 1, 1, 2).fill(0);
    return changed;
  }
};
struct ZeroOutput final : Tap {
  bool wants(Site site) const override {
    return site.layer == 0 && site.name == "attn.z";
  }
  Tensor at(Site, Tensor value) override {
    Tensor changed = value.clone();
    slice(changed, 2, 4, 8).fill(0);
    return changed;
  }
};

TEST(Gpt, ATapReplacesAttentionWeights) {
  nn::manual_seed(1);
  auto model = make_gpt(small());
  TorchRng rng(3);
  const Tensor ids = random_ids({1, 9}, 7, rng);
  NoGrad no_grad;
  ZeroHead by_weights;
  ZeroOutput by_output;
  Context plain, first{.tap = &by_weights}, second{.tap = &by_output};
  const Tensor untouched = model->logits(ids, plain);
  const Tensor a = model->logits(ids, first), b = model->logits(ids, second);
  EXPECT_TRUE(near(a, b, 1e-5));
  EXPECT_FALSE(near(a, untouched, 1e-5));
}

// Gives the weights back in memory of their own: the model goes on with them.
struct CopyWeights final : Tap {
  bool wants(Site site) const override { return site.name == "attn.weights"; }
  Tensor at(Site, Tensor value) override { return value.clone(); }
};

TEST(Gpt, ReplacedWeightsAreDroppedInTraining) {
  nn::manual_seed(1);
  GptConfig config = small();
  config.attn_dropout = 0.5;
  auto model = make_gpt(config);
  TorchRng rng(3);
  const Tensor ids = random_ids({1, 9}, 7, rng);
  NoGrad no_grad;
  CopyWeights copy;
  const StepRng step{.seed = 1};
  Context looking{.tap = &copy};
  Context training{.training = true, .rng = &step, .tap = &copy};
  const Tensor plain = model->logits(ids, looking);
  const Tensor dropped = model->logits(ids, training);
  EXPECT_FALSE(near(dropped, plain, 1e-3));
  EXPECT_TRUE(same_bits(model->logits(ids, training), dropped));
}

TEST(Gpt, RefusesWhatDoesNotFit) {
  GptConfig config = small();
  config.n_head = 3;
  EXPECT_THROW(make_gpt(config), Error);
  config = small();
  config.vocab_size = 0;
  EXPECT_THROW(make_gpt(config), Error);
  auto model = make_gpt(small());
  Context context;
  EXPECT_THROW(model->logits(Tensor::zeros({1, 25}, DType::i64), context),
               Error);
  EXPECT_THROW(model->logits(Tensor::full({1, 2}, 7, DType::i64), context),
               Error);
}

}  // namespace
}  // namespace qkv
