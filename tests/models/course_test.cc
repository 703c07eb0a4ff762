// What holds for every registered model, and what the models of the course are
// among each other.
#include <gtest/gtest.h>

#include <set>

#include "core/fields_json.h"
#include "core/json.h"
#include "qkv/autograd.h"
#include "qkv/generate.h"
#include "qkv/model.h"
#include "qkv/train.h"
#include "tests/cases/op_case.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace qkv {
namespace {

using nlohmann::json;
using test::random_ids;

std::unique_ptr<LanguageModel> make(std::string_view kind, json fields = {}) {
  const auto config = model_config(kind);
  fields["vocab_size"] = 7;
  fields["block_size"] = 8;
  const auto all = fields_to_json([&](FieldVisitor& v) { config->visit(v); });
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, int>>{
           {"n_embd", 8}, {"n_hidden", 6}, {"n_head", 2}, {"n_layer", 2}})
    if (all.contains(name) && !fields.contains(name)) fields[name] = value;
  fields_from_json(
      fields, [&](FieldVisitor& v) { config->visit(v); }, "test");
  nn::manual_seed(3);
  auto model = config->make();
  // Away from where it begins: some weights begin at 0.
  NoGrad no_grad;
  TorchRng rng(4);
  for (auto& p : model->parameters())
    p.tensor.copy_from(add(
        p.tensor, scale(test::normal(p.tensor.shape(), DType::f32, rng), 0.3)));
  if (model->learns_by_counting())
    model->count(random_ids({5, 8}, 7, rng), random_ids({5, 8}, 7, rng));
  return model;
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModel, GradientsMatchDifferences) {
  const auto model = make(GetParam());
  if (model->learns_by_counting()) {
    EXPECT_TRUE(model->parameters().empty());
    return;
  }
  model->to(DType::f64);
  TorchRng rng(4);
  std::vector<Tensor> values;
  for (const auto& p : model->parameters())
    values.push_back(p.tensor.detach().clone());
  const Tensor ids = random_ids({3, 8}, 7, rng);
  const Tensor targets = random_ids({3, 8}, 7, rng);
  const StepRng draws{.seed = 9};
  EXPECT_TRUE(test::gradients_match(
      [&](const std::vector<Tensor>& weights) {
        // The leaves are the model's own: the check writes into copies.
        const auto parameters = model->parameters();
        for (std::size_t i = 0; i < parameters.size(); ++i) {
          Tensor own = parameters[i].tensor;
          NoGrad no_grad;
          own.copy_from(weights[i]);
        }
        Context context{.training = true, .rng = &draws};
        model->zero_grad();
        Tensor mean = model->loss(ids, targets, context).mean;
        return custom_op("loss", mean.detach(), weights,
                         [&, mean](const Tensor& gradient) {
                           EnableGrad enable;
                           backward_from(mean, gradient);
                           std::vector<Tensor> all;
                           for (const auto& p : model->parameters())
                             all.push_back(p.tensor.grad());
                           return all;
                         });
      },
      values));
}

TEST_P(EveryModel, LooksAtNothingThatComesLater) {
  const auto model = make(GetParam());
  TorchRng rng(5);
  const Tensor ids = random_ids({2, 8}, 7, rng);
  Context context;
  const Tensor before = model->logits(ids, context).clone();
  Tensor changed = ids.clone();
  for (std::int64_t row = 0; row < 2; ++row)
    changed.data<std::int64_t>()[row * 8 + 5] =
        (ids.data<std::int64_t>()[row * 8 + 5] + 1) % 7;
  const Tensor after = model->logits(changed, context);
  EXPECT_TRUE(test::same_bits(slice(before, 1, 0, 5), slice(after, 1, 0, 5)));
  EXPECT_FALSE(test::same_bits(slice(before, 1, 5, 6), slice(after, 1, 5, 6)));
}

TEST_P(EveryModel, TokenByTokenIsAllAtOnce) {
  NoGrad no_grad;
  const auto model = make(GetParam());
  TorchRng rng(6);
  const Tensor ids = random_ids({1, 8}, 7, rng);
  Context context;
  const Tensor whole = model->logits(ids, context);
  const auto state = model->new_state(3);
  context.state = state.get();
  state->active = {2};
  std::vector<Tensor> parts;
  for (const auto& [from, to] :
       std::vector<std::pair<int, int>>{{0, 3}, {3, 4}, {4, 8}})
    parts.push_back(model->logits(slice(ids, 1, from, to), context));
  EXPECT_EQ(state->length(2), 8);
  EXPECT_TRUE(test::near(concat(parts, 1), whole, 2e-5));
  state->clear(2);
  EXPECT_EQ(state->length(2), 0);
  EXPECT_TRUE(test::near(model->logits(ids, context), whole, 2e-5));
}

TEST_P(EveryModel, ASequencesBitsDoNotDependOnItsNeighbours) {
  NoGrad no_grad;
  const auto model = make(GetParam());
  constexpr int kSlots = 20;
  TorchRng rng(10);
  const Tensor ids = random_ids({kSlots, 3}, 7, rng);
  const auto state = model->new_state(kSlots);
  Context context;
  context.state = state.get();
  std::vector<Tensor> alone;
  for (int b = 0; b < kSlots; ++b) {
    state->active = {b};
    const Tensor own = slice(ids, 0, b, b + 1);
    model->logits(slice(own, 1, 0, 2), context);
    alone.push_back(model->logits(slice(own, 1, 2, 3), context));
    state->clear(b);
  }
  // Begun together too: two tokens a sequence, then one.
  state->active.clear();
  for (int b = 0; b < kSlots; ++b) state->active.push_back(b);
  model->logits(slice(ids, 1, 0, 2), context);
  EXPECT_TRUE(test::same_bits(model->logits(slice(ids, 1, 2, 3), context),
                              concat(alone, 0)));
}

TEST_P(EveryModel, ATextDoesNotDependOnItsNeighbours) {
  const auto model = make(GetParam());
  const auto texts = [&](int slots) {
    std::vector<std::vector<std::int64_t>> out(5);
    generate::Engine engine(*model, slots);
    for (std::int64_t i = 0; i < 5; ++i)
      engine.add({.prompt = {0, i},
                  .max_tokens = 12,
                  .options = {.seed = static_cast<std::uint64_t>(i)},
                  .on_token = [&out, i](std::int64_t token) {
                    out[i].push_back(token);
                    return true;
                  }});
    engine.run();
    return out;
  };
  EXPECT_EQ(texts(1), texts(5));
}

TEST_P(EveryModel, TargetsMayBeOfTheLastPositionsOnly) {
  const auto model = make(GetParam());
  TorchRng rng(7);
  const Tensor ids = random_ids({3, 8}, 7, rng);
  Tensor all = Tensor::full({3, 8}, kIgnore, DType::i64);
  const Tensor last = random_ids({3, 2}, 7, rng);
  slice(all, 1, 6, 8).copy_from(last);
  Context context;
  const Loss whole = model->loss(ids, all, context);
  const Loss part = model->loss(ids, last, context);
  EXPECT_EQ(part.tokens, 6);
  EXPECT_NEAR(whole.mean.item(), part.mean.item(), 1e-6);
}

TEST_P(EveryModel, IdsMayBeAViewOfMore) {
  const auto model = make(GetParam());
  TorchRng rng(8);
  const Tensor ids = random_ids({3, 8}, 7, rng);
  const Tensor view = slice(ids, 1, 2, 7);
  Context context;
  EXPECT_TRUE(test::same_bits(model->logits(view, context),
                              model->logits(contiguous(view), context)));
}

TEST_P(EveryModel, MoreTargetsThanPositionsAreRefused) {
  const auto model = make(GetParam());
  TorchRng rng(9);
  Context context;
  const Tensor ids = random_ids({2, 4}, 7, rng);
  EXPECT_ERROR(input, "",
               model->loss(ids, random_ids({2, 5}, 7, rng), context));
  if (model->learns_by_counting()) {
    EXPECT_ERROR(input, "do not fit",
                 model->count(ids, random_ids({2, 5}, 7, rng)));
    EXPECT_ERROR(input, "outside 0..6",
                 model->count(ids, Tensor::full({2, 4}, 7, DType::i64)));
  }
}

TEST_P(EveryModel, ADryRunKnowsItsMemory) {
  const auto model = make(GetParam());
  EXPECT_GT(model->activation_bytes(4, 8), 0);
  EXPECT_GE(model->step_flops(4, 8), 0);
}

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const ModelKind& kind : model_kinds()) names.emplace_back(kind.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryModel, ::testing::ValuesIn(kinds()),
                         [](const auto& info) { return info.param; });

TEST(Course, NoTwoModelsShareAName) {
  const auto names = kinds();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(),
            names.size());
}

TEST(Course, ParameterCountsOfMakemore) {
  const auto count = [](const char* kind) {
    const auto config = model_config(kind);
    config->set_vocab_size(27);
    config->set_block_size(16);
    return config->make()->parameter_count();
  };
  EXPECT_EQ(count("bigram"), 729);
  EXPECT_EQ(count("rnn"), 11803);
  EXPECT_EQ(count("bow"), 12827);
  EXPECT_EQ(count("gru"), 28315);
  EXPECT_EQ(count("mlp"), 69147);
}

TEST(Course, ParameterCountsOfTheLectures) {
  const auto count = [](const char* kind, const json& fields, int block) {
    const auto config = model_config(kind);
    fields_from_json(
        fields, [&](FieldVisitor& v) { config->visit(v); }, "test");
    config->set_vocab_size(27);
    config->set_block_size(block);
    return config->make()->parameter_count();
  };
  json mlp{{"n_embd", 10}, {"n_hidden", 200}, {"style", "lecture"}};
  EXPECT_EQ(count("mlp", mlp, 3), 11897);
  mlp["batch_norm"] = true;
  EXPECT_EQ(count("mlp", mlp, 3), 12097);
  EXPECT_EQ(count("wavenet", {{"n_embd", 24}, {"n_hidden", 128}}, 8), 76579);
}

TEST(Course, CountsAreFrequencies) {
  const auto model = make("counts");
  for (auto& buffer : model->state()) buffer.tensor.fill(0);
  Tensor ids = Tensor::zeros({1, 4}, DType::i64);
  Tensor targets = Tensor::full({1, 4}, 2, DType::i64);
  targets.data<std::int64_t>()[0] = 5;
  targets.data<std::int64_t>()[1] = kIgnore;
  model->count(ids, targets);  // after 0: once 5, twice 2
  Context context;
  const auto logits = model->logits(slice(ids, 1, 0, 1), context);
  EXPECT_NEAR(logits.data<float>()[2], std::log(3.0 / 10), 1e-6);
  EXPECT_NEAR(logits.data<float>()[5], std::log(2.0 / 10), 1e-6);
  EXPECT_NEAR(logits.data<float>()[0], std::log(1.0 / 10), 1e-6);
  EXPECT_ERROR(input, "learns by gradients", make("rnn")->count(ids, targets));
}

TEST(Course, ATreeIsDilatedConvolutions) {
  const auto tree = make("wavenet", {{"batch_norm", false}});
  const auto dilated =
      make("wavenet", {{"batch_norm", false}, {"form", "dilated"}});
  std::map<std::string, Tensor> weights;
  for (const auto& p : tree->parameters()) weights[p.name] = p.tensor;
  dilated->load(weights);
  TorchRng rng(8);
  const Tensor ids = random_ids({3, 8}, 7, rng);
  Context context;
  EXPECT_TRUE(test::near(dilated->logits(ids, context),
                         tree->logits(ids, context), 1e-5));
}

TEST(Course, BatchNormRefusesOneRowBeforeItChangesAnything) {
  const auto model = make("mlp", {{"batch_norm", true}, {"context", 3}});
  std::vector<Tensor> before;
  for (const auto& s : model->state()) before.push_back(s.tensor.clone());
  TorchRng rng(9);
  const Tensor ids = random_ids({1, 8}, 7, rng);
  const Tensor one = random_ids({1, 1}, 7, rng);
  Context context{.training = true};
  EXPECT_ERROR(input, "has 1 row: a variance needs at least 2",
               model->loss(ids, one, context));
  const auto after = model->state();
  ASSERT_GT(after.size(), model->parameters().size());
  for (std::size_t i = 0; i < after.size(); ++i)
    EXPECT_TRUE(test::same_bits(before[i], after[i].tensor)) << after[i].name;
}

}  // namespace
}  // namespace qkv
