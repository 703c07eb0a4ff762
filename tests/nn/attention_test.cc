#include "qkv/nn/attention.h"

#include <gtest/gtest.h>

#include "qkv/autograd.h"
#include "qkv/error.h"
#include "qkv/nn/block.h"
#include "qkv/ops.h"
#include "tests/support/compare.h"
#include "tests/support/gradcheck.h"

namespace qkv::nn {
namespace {

Tensor numbers(const Shape& shape, DType dtype, int seed = 1) {
  TorchRng rng(seed);
  Tensor x = Tensor::empty(shape, DType::f64);
  rng.randn(x);
  return x.to(dtype);
}

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const NamedTensor& p : module.parameters())
    names.push_back(p.name + p.tensor.shape().str());
  return names;
}

using Names = std::vector<std::string>;

TEST(AttentionModules, ParametersAreNamedAsInPyTorch) {
  EXPECT_EQ(names_of(SelfAttention(6)),
            (Names{"query.weight(6,6)", "query.bias(6)", "key.weight(6,6)",
                   "key.bias(6)", "value.weight(6,6)", "value.bias(6)"}));
  EXPECT_EQ(names_of(MultiHeadSelfAttention(6, 2)),
            (Names{"qkv.weight(18,6)", "qkv.bias(18)", "out_proj.weight(6,6)",
                   "out_proj.bias(6)"}));
  EXPECT_EQ(names_of(CrossAttention(6, 2, 4)),
            (Names{"query.weight(6,6)", "query.bias(6)", "kv.weight(12,4)",
                   "kv.bias(12)", "out_proj.weight(6,6)", "out_proj.bias(6)"}));
  EXPECT_EQ(names_of(TinyGPTBlock(6, 2, 8)),
            (Names{"ln1.weight(6)", "ln1.bias(6)", "attn.qkv.weight(18,6)",
                   "attn.qkv.bias(18)", "attn.out_proj.weight(6,6)",
                   "attn.out_proj.bias(6)", "ln2.weight(6)", "ln2.bias(6)",
                   "ff.0.weight(8,6)", "ff.0.bias(8)", "ff.2.weight(6,8)",
                   "ff.2.bias(6)"}));
}

TEST(AttentionModules, ShapesOfOutputAndWeights) {
  const AttentionOptions wanted{.want_weights = WantWeights::all()};
  const AttentionResult one =
      SelfAttention(32).forward(numbers({2, 5, 32}, DType::f32), wanted);
  EXPECT_EQ(one.output.shape().str(), "(2,5,32)");
  EXPECT_EQ(one.weights.shape().str(), "(2,5,5)");
  const AttentionResult many = MultiHeadSelfAttention(64, 8).forward(
      numbers({1, 10, 64}, DType::f32), wanted);
  EXPECT_EQ(many.output.shape().str(), "(1,10,64)");
  EXPECT_EQ(many.weights.shape().str(), "(1,8,10,10)");
  const AttentionResult cross = CrossAttention(16, 4, 12).forward(
      numbers({2, 3, 16}, DType::f32), numbers({2, 7, 12}, DType::f32), wanted);
  EXPECT_EQ(cross.output.shape().str(), "(2,3,16)");
  EXPECT_EQ(cross.weights.shape().str(), "(2,4,3,7)");
  const AttentionResult block =
      TinyGPTBlock(128, 4, 256).forward(numbers({2, 12, 128}, DType::f32));
  EXPECT_EQ(block.output.shape().str(), "(2,12,128)");
  EXPECT_FALSE(block.weights.defined());
}

// H heads are H attentions with their own W_Q, W_K, W_V, concatenated and
// multiplied by W_O.
TEST(AttentionModules, ManyHeadsAreManyAttentions) {
  constexpr int kHeads = 3, kWidth = 12, kPerHead = 4;
  MultiHeadSelfAttention together(kWidth, kHeads);
  together.to(DType::f64);
  const Tensor x = numbers({2, 5, kWidth}, DType::f64);
  const Tensor weight = together.qkv.weight.detach();
  const Tensor bias = together.qkv.bias.detach();
  std::vector<Tensor> heads;
  for (int h = 0; h < kHeads; ++h) {
    const auto project = [&](int part) {
      const int row = part * kWidth + h * kPerHead;
      return linear(x, slice(weight, 0, row, row + kPerHead),
                    slice(bias, 0, row, row + kPerHead));
    };
    const Tensor scores =
        scale(matmul(project(0), transpose(project(1), 1, 2)), 0.5);  // 1/√4
    heads.push_back(matmul(softmax(scores), project(2)));
  }
  const Tensor apart = linear(concat(heads, 2), together.out_proj.weight,
                              together.out_proj.bias);
  EXPECT_TRUE(test::near(together.forward(x).output, apart, 1e-14));
}

// The parameters are inputs of the function as well: members are handles, and
// take the checker's tensors.
template <class Forward>
void expect_gradients(std::vector<Tensor> inputs,
                      const std::vector<Tensor*>& parameters, Forward forward) {
  const std::size_t given = inputs.size();
  for (Tensor* p : parameters)
    inputs.push_back(
        numbers(p->shape(), DType::f64, static_cast<int>(inputs.size())));
  EXPECT_TRUE(test::gradients_match(
      [&](const std::vector<Tensor>& all) {
        for (std::size_t i = 0; i < parameters.size(); ++i)
          *parameters[i] = all[given + i];
        return forward(all).output;
      },
      inputs));
}

TEST(AttentionModules, GradientsMatchDifferences) {
  const AttentionOptions causal{.mask = Mask::causal()};
  const Tensor x = numbers({2, 3, 4}, DType::f64);
  SelfAttention one(4);
  expect_gradients({x},
                   {&one.query.weight, &one.query.bias, &one.key.weight,
                    &one.key.bias, &one.value.weight, &one.value.bias},
                   [&](const auto& in) { return one.forward(in[0], causal); });
  MultiHeadSelfAttention many(4, 2);
  expect_gradients({x},
                   {&many.qkv.weight, &many.qkv.bias, &many.out_proj.weight,
                    &many.out_proj.bias},
                   [&](const auto& in) { return many.forward(in[0], causal); });
  CrossAttention cross(4, 2, 3);
  expect_gradients(
      {x, numbers({2, 5, 3}, DType::f64)},
      {&cross.query.weight, &cross.query.bias, &cross.kv.weight, &cross.kv.bias,
       &cross.out_proj.weight, &cross.out_proj.bias},
      [&](const auto& in) { return cross.forward(in[0], in[1]); });
  TinyGPTBlock block(4, 2, 5);
  expect_gradients(
      {x},
      {&block.ln1.weight, &block.ln1.bias, &block.attn.qkv.weight,
       &block.attn.qkv.bias, &block.attn.out_proj.weight,
       &block.attn.out_proj.bias, &block.ln2.weight, &block.ln2.bias,
       &block.ff.in.weight, &block.ff.in.bias, &block.ff.out.weight,
       &block.ff.out.bias},
      [&](const auto& in) { return block.forward(in[0], causal); });
}

TEST(AttentionModules, SaysWhatDoesNotFit) {
  const auto error_of = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  for (const std::string& text :
       {error_of([] { MultiHeadSelfAttention(10, 4); }),
        error_of([] { CrossAttention(10, 4); }),
        error_of([] { TinyGPTBlock(10, 4, 8); })}) {
    EXPECT_TRUE(contains(text, "embed_dim must be divisible by num_heads"))
        << text;
    EXPECT_TRUE(contains(text, "10") && contains(text, "4")) << text;
  }
  EXPECT_TRUE(contains(error_of([] { MultiHeadSelfAttention(8, 0); }),
                       "at least 1, not 8 and 0"));
  EXPECT_TRUE(contains(error_of([] {
                         SelfAttention(4).forward(Tensor::zeros({2, 3, 5}));
                       }),
                       "(batch,length,4), not (2,3,5)"));
  EXPECT_TRUE(contains(error_of([] {
                         CrossAttention(4, 2, 6).forward(
                             Tensor::zeros({2, 3, 4}),
                             Tensor::zeros({2, 3, 4}));
                       }),
                       "memory must be (batch,length,6), not (2,3,4)"));
  EXPECT_TRUE(contains(error_of([] {
                         CrossAttention(4, 2).forward(Tensor::zeros({2, 3, 4}),
                                                      Tensor::zeros({1, 3, 4}));
                       }),
                       "differ in batch"));
}

// The number of draws and their order: one generator, in order of construction.
TEST(AttentionModules, InitialValuesAreDrawnInOrder) {
  manual_seed(5);
  const MultiHeadSelfAttention module(4, 2);
  TorchRng rng(5);
  for (const NamedTensor& p : module.parameters()) {
    Tensor expected = Tensor::empty(p.tensor.shape());
    rng.uniform(expected, -0.5, 0.5);  // 1/√4
    EXPECT_TRUE(test::same_bits(p.tensor, expected)) << p.name;
  }
}

}  // namespace
}  // namespace qkv::nn
