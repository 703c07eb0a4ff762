// Whole GPTs against PyTorch in f64: logits, loss and every gradient.
#include <gtest/gtest.h>

#include "qkv/autograd.h"
#include "qkv/io.h"
#include "qkv/model.h"
#include "tests/support/compare.h"

namespace qkv {
namespace {

struct Variant {
  const char* name;
  GptConfig config;
};

GptConfig small() {
  return {.vocab_size = 11,
          .block_size = 6,
          .n_layer = 2,
          .n_head = 2,
          .n_embd = 8};
}

const Variant kVariants[] = {
    {"gpt2",
     [] {
       GptConfig c = small();
       c.tied_head = true;
       return c;
     }()},
    {"nanogpt",
     [] {
       GptConfig c = small();
       c.tied_head = true;
       c.biases = Biases::none;
       c.activation = Activation::gelu_erf;
       return c;
     }()},
    {"lecture",
     [] {
       GptConfig c = small();
       c.biases = Biases::all_but_qkv;
       c.head_bias = true;
       c.activation = Activation::relu;
       return c;
     }()},
};

class GptGolden : public ::testing::TestWithParam<Variant> {
 protected:
  void check(DType dtype, double tolerance) {
    const io::SafetensorsFile file(std::string(QKV_SOURCE_DIR) +
                                   "/tests/golden/gpt_" + GetParam().name +
                                   ".safetensors");
    auto model = make_gpt(GetParam().config);
    model->to(dtype);
    std::map<std::string, Tensor> weights;
    for (const auto& entry : file.entries())
      if (entry.name.starts_with("weight."))
        weights[entry.name.substr(7)] = file.read(entry.name);
    model->load(weights);

    const Tensor ids = file.read("ids"), targets = file.read("targets");
    Context context;
    EXPECT_TRUE(test::near(model->logits(ids, context), file.read("logits"),
                           tolerance));
    const Loss loss = model->loss(ids, targets, context);
    EXPECT_TRUE(test::near(loss.mean, file.read("loss"), tolerance));
    EXPECT_EQ(loss.tokens, 16);
    backward(loss.mean);
    int compared = 0;
    for (const auto& p : model->parameters()) {
      const std::string name = "grad." + p.name;
      if (!file.find(name)) continue;  // the second name of a tied weight
      SCOPED_TRACE(p.name);
      EXPECT_TRUE(test::near(p.tensor.grad(), file.read(name), tolerance));
      ++compared;
    }
    EXPECT_EQ(compared, static_cast<int>(weights.size()));
  }
};

TEST_P(GptGolden, F64) { check(DType::f64, 1e-10); }
TEST_P(GptGolden, F32) { check(DType::f32, 2e-5); }

INSTANTIATE_TEST_SUITE_P(Variants, GptGolden, ::testing::ValuesIn(kVariants),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace qkv
