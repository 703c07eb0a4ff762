#include <gtest/gtest.h>

#include <cmath>

#include "qkv/inspect.h"
#include "tests/support/errors.h"

namespace qkv::inspect {
namespace {

constexpr std::int64_t kWidth = 12, kHeads = 3, kLayers = 2, kHead = 4;
const std::vector<std::int64_t> kIds{3, 1, 4, 1, 5};

std::unique_ptr<LanguageModel> tiny_model() {
  nn::manual_seed(6);
  return make_gpt({.vocab_size = 9,
                   .block_size = 8,
                   .n_layer = kLayers,
                   .n_head = kHeads,
                   .n_embd = kWidth,
                   .init = Init::torch_default});
}

std::vector<double> parameter(const LanguageModel& model,
                              const std::string& name) {
  for (const auto& p : model.parameters())
    if (p.name == name) return p.tensor.to(DType::f64).to_vector<double>();
  ADD_FAILURE() << name << " is no parameter";
  return {};
}

TEST(HeadSteps, EachStepFollowsFromTheOneBefore) {
  auto model = tiny_model();
  const auto t = static_cast<std::int64_t>(kIds.size());
  for (int layer = 0; layer < kLayers; ++layer)
    for (int head = 0; head < kHeads; ++head) {
      SCOPED_TRACE(layer * 10 + head);
      const HeadSteps s = head_steps(*model, kIds, layer, head);
      ASSERT_EQ(s.head_width, kHead);
      EXPECT_DOUBLE_EQ(s.scale, 0.5);
      const std::string prefix =
          "transformer.h." + std::to_string(layer) + ".attn.c_attn.";
      const auto weight = parameter(*model, prefix + "weight");
      const auto bias = parameter(*model, prefix + "bias");
      const std::vector<float>* parts[] = {&s.q, &s.k, &s.v};
      for (std::int64_t part = 0; part < 3; ++part)
        for (std::int64_t i = 0; i < t; ++i)
          for (std::int64_t c = 0; c < kHead; ++c) {
            const std::int64_t row = part * kWidth + head * kHead + c;
            double sum = bias[row];
            for (std::int64_t d = 0; d < kWidth; ++d)
              sum += s.x[i * kWidth + d] * weight[row * kWidth + d];
            EXPECT_NEAR((*parts[part])[i * kHead + c], sum, 1e-5);
          }
      for (std::int64_t i = 0; i < t; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < t; ++j) {
          double dot = 0;
          for (std::int64_t c = 0; c < kHead; ++c)
            dot += static_cast<double>(s.q[i * kHead + c]) * s.k[j * kHead + c];
          EXPECT_NEAR(s.raw[i * t + j], dot, 1e-5);
          EXPECT_NEAR(s.scaled[i * t + j], dot / 2, 1e-5);
          EXPECT_EQ(s.masked[i * t + j] == kHidden, j > i);
          EXPECT_EQ(s.weights[i * t + j] == kHidden, j > i);
          if (j <= i) sum += std::exp(dot / 2);
        }
        for (std::int64_t j = 0; j <= i; ++j)
          EXPECT_NEAR(s.weights[i * t + j],
                      std::exp(static_cast<double>(s.masked[i * t + j])) / sum,
                      1e-5);
        for (std::int64_t c = 0; c < kHead; ++c) {
          double mixed = 0;
          for (std::int64_t j = 0; j <= i; ++j)
            mixed +=
                static_cast<double>(s.weights[i * t + j]) * s.v[j * kHead + c];
          EXPECT_NEAR(s.output[i * kHead + c], mixed, 1e-5);
        }
      }
    }
}

TEST(AttentionMaps, AreTheStepsOfEveryHead) {
  auto model = tiny_model();
  for (const Stage stage : {Stage::raw, Stage::scaled, Stage::weights}) {
    const auto maps = attention_maps(*model, kIds, stage);
    ASSERT_EQ(maps.size(), static_cast<std::size_t>(kLayers * kHeads));
    for (const AttentionMap& map : maps) {
      const HeadSteps s = head_steps(*model, kIds, map.layer, map.head);
      const auto& expected = stage == Stage::raw      ? s.raw
                             : stage == Stage::scaled ? s.scaled
                                                      : s.weights;
      for (std::int64_t i = 0; i < map.length; ++i)
        for (std::int64_t j = 0; j < map.length; ++j) {
          const float got = map.values[i * map.length + j];
          if (j > i)
            EXPECT_EQ(got, kHidden);
          else
            EXPECT_EQ(got, expected[i * map.length + j]);
        }
    }
  }
}

TEST(AttentionMaps, OneLayerOrHeadIsAPartOfAll) {
  auto model = tiny_model();
  EXPECT_EQ(attention_maps(*model, kIds, Stage::weights, 1).size(), 3u);
  EXPECT_EQ(attention_maps(*model, kIds, Stage::weights, -1, 2).size(), 2u);
  const auto one = attention_maps(*model, kIds, Stage::weights, 1, 2);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].layer, 1);
  EXPECT_EQ(one[0].head, 2);
}

TEST(AttentionMaps, WhatDoesNotExistIsNamed) {
  auto model = tiny_model();
  EXPECT_ERROR(input, "layer 2",
               attention_maps(*model, kIds, Stage::raw, 2, 0));
  EXPECT_ERROR(input, "head 3", attention_maps(*model, kIds, Stage::raw, 0, 3));
  EXPECT_ERROR(input, "no tokens", attention_maps(*model, {}, Stage::raw));
  EXPECT_ERROR(input, "layer and head", head_steps(*model, kIds, 0, -1));
}

}  // namespace
}  // namespace qkv::inspect
