// Whole GPTs against PyTorch in f64: logits, loss and every gradient.
#include <gtest/gtest.h>

#include "qkv/autograd.h"
#include "qkv/io.h"
#include "qkv/model.h"
#include "tests/models/golden_model.h"

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
    const io::SafetensorsFile file =
        test::golden_file(std::string("gpt_") + GetParam().name);
    auto model = make_gpt(GetParam().config);
    model->to(dtype);
    const int weights = test::load_golden_weights(*model, file);

    const Tensor ids = file.read("ids"), targets = file.read("targets");
    Context context;
    EXPECT_TRUE(test::near(model->logits(ids, context), file.read("logits"),
                           tolerance));
    const Loss loss = model->loss(ids, targets, context);
    EXPECT_TRUE(test::near(loss.mean, file.read("loss"), tolerance));
    EXPECT_EQ(loss.tokens, 16);
    backward(loss.mean);
    EXPECT_EQ(test::expect_golden_gradients(*model, file, tolerance), weights);
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
