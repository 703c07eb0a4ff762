// The memory that a dry run promises against what a step takes.
#include <gtest/gtest.h>

#include "qkv/autograd.h"
#include "qkv/model.h"
#include "qkv/runtime.h"

namespace qkv {
namespace {

struct Setting {
  const char* name;
  GptConfig config;
  std::int64_t batch;
};

class GptMemory : public ::testing::TestWithParam<Setting> {};

TEST_P(GptMemory, IsWhatADryRunPromises) {
  const Setting& s = GetParam();
  nn::SkipInit skip;
  const auto model = make_gpt(s.config);
  for (const auto& p : model->parameters()) {
    Tensor tensor = p.tensor;
    tensor.fill(0.01);
  }
  const Shape shape{s.batch, s.config.block_size};
  const Tensor ids = Tensor::full(shape, 1, DType::i64);
  const std::int64_t before = runtime::memory().in_use;
  runtime::reset_peak_memory();
  {
    const StepRng rng{.seed = 1};
    Context context{.training = true, .rng = &rng};
    const Loss loss = model->loss(ids, ids, context);
    backward(loss.mean);
  }
  // All of a step: weights and two moments beside what was just measured, which
  // held the gradients.
  const double kept = 4.0 * 3 * static_cast<double>(model->parameter_count());
  const double used =
      kept + static_cast<double>(runtime::memory().peak - before);
  const double promised = kept +
                          4.0 * static_cast<double>(model->parameter_count()) +
                          model->activation_bytes(s.batch, shape[1]);
  EXPECT_NEAR(promised / used, 1, 0.05)
      << "promised " << promised << ", used " << used;
}

INSTANTIATE_TEST_SUITE_P(
    Settings, GptMemory,
    ::testing::Values(
        Setting{
            "makemore", {.vocab_size = 27, .block_size = 16, .n_embd = 64}, 32},
        Setting{"nanogpt",
                {.vocab_size = 65, .block_size = 64, .tied_head = true},
                12},
        Setting{"dropout",
                {.vocab_size = 65,
                 .block_size = 128,
                 .n_layer = 3,
                 .n_head = 6,
                 .n_embd = 192,
                 .embd_dropout = 0.1,
                 .attn_dropout = 0.1,
                 .resid_dropout = 0.1},
                8},
        Setting{"manyTokens",
                {.vocab_size = 5000,
                 .block_size = 128,
                 .n_layer = 2,
                 .n_embd = 64,
                 .tied_head = true},
                8}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace qkv
