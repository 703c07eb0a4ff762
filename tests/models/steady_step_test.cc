// Nothing is allocated in a steady training step: no operator new, no miss of
// the caching allocator, no growth of the address space, from the third step.
// To see who allocates, put a test::TrapAllocations around the step and run the
// test under a debugger.
#include <gtest/gtest.h>

#include <string>

#include "qkv/autograd.h"
#include "qkv/model.h"
#include "qkv/optim.h"
#include "qkv/runtime.h"
#include "tests/support/allocation_counter.h"

namespace qkv {
namespace {

constexpr int kWarmUp = 2, kSteps = 8;
// AddressSanitizer keeps what was freed for a while.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kAddressSpaceCounts = false;
#else
constexpr bool kAddressSpaceCounts = true;
#endif

struct Setting {
  const char* name;
  GptConfig config;
  std::int64_t batch = 4;
  bool sgd = false;
  int accumulate = 1;  // batches a step
};

// Of one step after the warm-up, all of it: forward to zero_grad.
test::Allocations one_step(LanguageModel& model, optim::Optimizer& optimizer,
                           const Tensor& ids, const Tensor& targets, int step,
                           int accumulate) {
  const auto before = test::allocations();
  for (int i = 0; i < accumulate; ++i) {
    const StepRng rng{
        .seed = 1, .step = static_cast<std::uint64_t>(step * accumulate + i)};
    Context context{.training = true, .rng = &rng};
    const Loss loss = model.loss(ids, targets, context);
    EXPECT_GT(loss.mean.item(), 0);
    backward(loss.mean);
  }
  const double norm = optim::grad_norm(optimizer.parameters());
  optimizer.step(1e-3, optim::clip_scale(norm, 1));
  optimizer.zero_grad();
  return test::allocations() - before;
}

class SteadyStep : public ::testing::TestWithParam<Setting> {};

TEST_P(SteadyStep, AllocatesNothing) {
  const Setting& s = GetParam();
  const int threads = runtime::threads();
  runtime::set_threads(2);
  const auto model = make_gpt(s.config);
  auto parameters =
      optim::parameters_of(model->parameters(), optim::DecayRule::matrices);
  const auto optimizer =
      s.sgd ? optim::sgd(std::move(parameters), {.momentum = 0.9})
            : optim::adamw(std::move(parameters));
  const Shape shape{s.batch, s.config.block_size};
  const Tensor ids = Tensor::full(shape, 1, DType::i64);
  const Tensor targets = Tensor::full(shape, 2, DType::i64);
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    const auto used =
        one_step(*model, *optimizer, ids, targets, step, s.accumulate);
    if (step < kWarmUp) continue;
    EXPECT_EQ(used.news, 0) << "step " << step << ": " << used;
    EXPECT_EQ(used.misses, 0) << "step " << step << ": " << used;
    if (kAddressSpaceCounts) {
      EXPECT_EQ(used.mapped, 0) << "step " << step << ": " << used;
    }
  }
  runtime::set_threads(threads);
}

const GptConfig kMakemore{.vocab_size = 27,
                          .block_size = 16,
                          .n_layer = 2,
                          .n_head = 4,
                          .n_embd = 64};
GptConfig with_dropout(GptConfig config) {
  config.embd_dropout = config.attn_dropout = config.resid_dropout = 0.2;
  return config;
}
GptConfig tied_without_biases(GptConfig config) {
  config.tied_head = true;
  config.biases = Biases::none;
  return config;
}
// Large enough that the work is cut for threads, and long sums in parts.
const GptConfig kWide{.vocab_size = 500,
                      .block_size = 64,
                      .n_layer = 1,
                      .n_head = 4,
                      .n_embd = 256};

INSTANTIATE_TEST_SUITE_P(
    Gpt, SteadyStep,
    ::testing::Values(Setting{"plain", kMakemore},
                      Setting{"dropout", with_dropout(kMakemore)},
                      Setting{"tied", tied_without_biases(kMakemore)},
                      Setting{.name = "sgd", .config = kMakemore, .sgd = true},
                      Setting{.name = "accumulating",
                              .config = with_dropout(kMakemore),
                              .accumulate = 3},
                      Setting{"wide", with_dropout(kWide), 8}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace qkv
