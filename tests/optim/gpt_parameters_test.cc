// A GPT's parameters under each decay rule, by the published groupings.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "qkv/model.h"
#include "qkv/optim.h"

namespace qkv::optim {
namespace {

using Strings = std::vector<std::string>;

Strings decayed(const LanguageModel& model, DecayRule rule) {
  Strings names;
  for (const Parameter& p : parameters_of(model.parameters(), rule))
    if (p.decays) names.push_back(p.name);
  std::sort(names.begin(), names.end());
  return names;
}

constexpr GptConfig kSmall{
    .vocab_size = 5, .block_size = 4, .n_layer = 1, .n_head = 2, .n_embd = 4};

TEST(Decay, FollowsTheRule) {
  for (bool tied : {false, true}) {
    GptConfig config = kSmall;
    config.tied_head = tied;
    const auto model = make_gpt(config);
    const std::string h = "transformer.h.0.";
    // minGPT: linear layers' weights alone; a tied head is the embedding.
    Strings linear{h + "attn.c_attn.weight", h + "attn.c_proj.weight",
                   h + "mlp.c_fc.weight", h + "mlp.c_proj.weight"};
    if (!tied) linear.insert(linear.begin(), "lm_head.weight");
    EXPECT_EQ(decayed(*model, DecayRule::linear), linear);
    // nanoGPT: all with two axes.
    Strings matrices = linear;
    matrices.insert(matrices.end(),
                    {"transformer.wpe.weight", "transformer.wte.weight"});
    EXPECT_EQ(decayed(*model, DecayRule::matrices), matrices);
    // makemore: all.
    const auto all = parameters_of(model->parameters(), DecayRule::all);
    EXPECT_EQ(decayed(*model, DecayRule::all).size(), all.size());
    EXPECT_EQ(all.size(), model->parameters().size() - (tied ? 1 : 0));
  }
}

TEST(Decay, NormsAndBiasesStayWhereTheRuleLeavesThemOut) {
  const auto model = make_gpt(kSmall);
  std::map<std::string, std::vector<double>> before;
  for (NamedTensor p : model->parameters()) {
    if (p.tensor.rank() == 1) p.tensor.fill(0.5);
    p.tensor.set_grad(Tensor::zeros(p.tensor.shape()));
    before[p.name] = p.tensor.to_vector<double>();
  }
  const auto optimizer =
      adamw(parameters_of(model->parameters(), DecayRule::matrices),
            {.weight_decay = 0.1});
  optimizer->step(1);
  for (const NamedTensor& p : model->parameters()) {
    const double factor = p.tensor.rank() == 1 ? 1 : 0.9;
    const auto after = p.tensor.to_vector<double>();
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_NEAR(after[i], before[p.name][i] * factor, 1e-7) << p.name;
  }
}

TEST(GptParameters, GPT2HasItsPublishedCount) {
  const nn::SkipInit skip;  // half a gigabyte that nobody touches
  const auto model = make_gpt({.vocab_size = 50257,
                               .block_size = 1024,
                               .n_layer = 12,
                               .n_head = 12,
                               .n_embd = 768,
                               .tied_head = true});
  EXPECT_EQ(model->parameter_count(), 124439808);
  std::int64_t count = 0;
  for (const auto& p : parameters_of(model->parameters(), DecayRule::all))
    count += p.tensor.numel();
  EXPECT_EQ(count, 124439808);
}

}  // namespace
}  // namespace qkv::optim
