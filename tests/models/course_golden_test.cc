// The models of the course against PyTorch in f64: logits, loss, every
// gradient, and what BatchNorm keeps.
#include <gtest/gtest.h>

#include "core/fields_json.h"
#include "core/json.h"
#include "qkv/autograd.h"
#include "qkv/io.h"
#include "qkv/model.h"
#include "tests/models/golden_model.h"

namespace qkv {
namespace {

using nlohmann::json;

struct Variant {
  const char* name;
  const char* kind;
  json config;  // beside vocab_size and block_size
};

const Variant kVariants[] = {
    {"bigram", "bigram", {}},
    {"bow", "bow", {{"n_embd", 3}, {"n_hidden", 5}}},
    {"mlp", "mlp", {{"n_embd", 3}, {"n_hidden", 5}}},
    {"mlp_norm",
     "mlp",
     {{"n_embd", 3},
      {"n_hidden", 5},
      {"n_layer", 2},
      {"context", 3},
      {"batch_norm", true},
      {"style", "lecture"}}},
    {"wavenet", "wavenet", {{"n_embd", 3}, {"n_hidden", 5}, {"n_level", 2}}},
    {"rnn", "rnn", {{"n_embd", 3}, {"n_hidden", 5}}},
    {"gru", "gru", {{"n_embd", 3}, {"n_hidden", 5}}},
    {"lstm", "lstm", {{"n_embd", 3}, {"n_hidden", 5}}},
};

class CourseGolden : public ::testing::TestWithParam<Variant> {
 protected:
  void check(DType dtype, double tolerance) {
    const io::SafetensorsFile file =
        test::golden_file(std::string("course_") + GetParam().name);
    const auto config = model_config(GetParam().kind);
    json fields = GetParam().config;
    fields["vocab_size"] = 7;
    fields["block_size"] = 6;
    fields_from_json(
        fields, [&](FieldVisitor& v) { config->visit(v); }, "test");
    const auto model = config->make();
    model->to(dtype);
    test::load_golden_weights(*model, file);
    const Tensor ids = file.read("ids"), targets = file.read("targets");
    Context training{.training = true};

    const Loss loss = model->loss(ids, targets, training);
    EXPECT_TRUE(test::near(loss.mean, file.read("loss"), tolerance));
    backward(loss.mean);
    EXPECT_EQ(test::expect_golden_gradients(*model, file, tolerance),
              std::ssize(model->parameters()));
    bool norms = false;
    for (const auto& s : model->state())
      if (file.find("after." + s.name)) {
        SCOPED_TRACE(s.name);
        norms = true;
        EXPECT_TRUE(test::near(s.tensor.to(DType::f64),
                               file.read("after." + s.name).to(DType::f64),
                               tolerance));
      }
    Context evaluating;
    if (norms) {
      EXPECT_TRUE(test::near(model->logits(ids, evaluating),
                             file.read("evaluated"), tolerance));
    }
    EXPECT_TRUE(test::near(model->logits(ids, training), file.read("logits"),
                           tolerance));
  }
};

TEST_P(CourseGolden, F64) { check(DType::f64, 1e-10); }
TEST_P(CourseGolden, F32) { check(DType::f32, 2e-5); }

INSTANTIATE_TEST_SUITE_P(Variants, CourseGolden, ::testing::ValuesIn(kVariants),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace qkv
