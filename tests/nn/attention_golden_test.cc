// The attention modules against PyTorch in f64: outputs, weights, every
// gradient.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "qkv/autograd.h"
#include "qkv/io.h"
#include "qkv/nn/attention.h"
#include "qkv/nn/block.h"
#include "tests/support/compare.h"

namespace qkv::nn {
namespace {

using Forward = std::function<AttentionResult(const Tensor& x, const Tensor&,
                                              const AttentionOptions&)>;

// A module and its fixture attention_NAME.safetensors.
struct Variant {
  const char* name;
  std::function<std::pair<std::unique_ptr<Module>, Forward>()> make;
};

template <class M, class... Sizes>
auto on_one_sequence(Sizes... sizes) {
  return [=]() -> std::pair<std::unique_ptr<Module>, Forward> {
    auto module = std::make_unique<M>(sizes...);
    M* m = module.get();
    return {std::move(module),
            [m](const Tensor& x, const Tensor&, const AttentionOptions& o) {
              return m->forward(x, o);
            }};
  };
}
template <class... Sizes>
auto on_two_sequences(Sizes... sizes) {
  return [=]() -> std::pair<std::unique_ptr<Module>, Forward> {
    auto module = std::make_unique<CrossAttention>(sizes...);
    CrossAttention* m = module.get();
    return {std::move(module), [m](const Tensor& x, const Tensor& memory,
                                   const AttentionOptions& o) {
              return m->forward(x, memory, o);
            }};
  };
}

const Variant kVariants[] = {
    {"self", on_one_sequence<SelfAttention>(6)},
    {"multi_head", on_one_sequence<MultiHeadSelfAttention>(8, 4)},
    {"cross", on_two_sequences(8, 2, 6)},
    {"cross_long", on_two_sequences(6, 3)},
    {"block", on_one_sequence<TinyGPTBlock>(8, 2, 12)},
};

class AttentionGolden : public ::testing::TestWithParam<Variant> {
 protected:
  void check(DType dtype, double tolerance, runtime::Path path) {
    const io::SafetensorsFile file(std::string(QKV_SOURCE_DIR) +
                                   "/tests/golden/attention_" +
                                   GetParam().name + ".safetensors");
    auto [module, forward] = GetParam().make();
    std::map<std::string, Tensor> weights;
    for (const auto& entry : file.entries())
      if (entry.name.starts_with("weight."))
        weights[entry.name.substr(7)] = file.read(entry.name);
    module->to(dtype);
    module->load(weights);
    for (const auto& named :
         {std::pair<std::string, Mask>{"none", Mask::none()},
          {"causal", Mask::causal()},
          {"window:3", Mask::window(3)}}) {
      const auto& [name, mask] = named;
      SCOPED_TRACE(name);
      Tensor x = file.read("x").to(dtype), memory;
      x.set_requires_grad();
      if (file.find("memory")) {
        memory = file.read("memory").to(dtype);
        memory.set_requires_grad();
      }
      module->zero_grad();
      const AttentionResult got = forward(
          x, memory,
          {.mask = mask, .want_weights = WantWeights::all(), .path = path});
      backward_from(got.output, file.read("grad_out").to(dtype));

      const auto near = [&](const Tensor& a, const std::string& of) {
        return test::near(a, file.read(named.first + "." + of), tolerance);
      };
      EXPECT_TRUE(near(got.output, "out"));
      EXPECT_TRUE(near(got.weights, "weights"));
      EXPECT_TRUE(near(x.grad(), "grad.x"));
      EXPECT_TRUE(!memory || near(memory.grad(), "grad.memory"));
      for (const NamedTensor& p : module->parameters())
        EXPECT_TRUE(near(p.tensor.grad(), "grad." + p.name)) << p.name;
    }
  }
};

TEST_P(AttentionGolden, F64) {
  check(DType::f64, 1e-10, runtime::Path::automatic);
}
TEST_P(AttentionGolden, F32Flash) {
  check(DType::f32, 2e-5, runtime::Path::fast);
}
TEST_P(AttentionGolden, F32Reference) {
  check(DType::f32, 2e-5, runtime::Path::reference);
}

INSTANTIATE_TEST_SUITE_P(Modules, AttentionGolden,
                         ::testing::ValuesIn(kVariants),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace qkv::nn
