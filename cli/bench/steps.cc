// Whole training steps: a random batch, forward, backward, the gradients' norm
// where the preset clips, and the optimizer.
#include <fmt/format.h>

#include "cli/bench/bench_case.h"
#include "cli/bench/random_tokens.h"
#include "qkv/train.h"

namespace qkv::cli::bench {
namespace {

struct Step {
  std::string_view name, preset;
  std::int64_t vocab_size, length;
  std::int64_t batch_size = 0;  // 0: the preset's
};

Work step_work(const Step& step) {
  TrainConfig train;
  auto config = apply_preset(preset(step.preset), train);
  if (step.batch_size > 0) train.batch_size = step.batch_size;
  train.grad_accumulation = 1;  // one batch, whatever the preset adds up
  config->set_vocab_size(step.vocab_size);
  // GPT-2's positions are its own, however short the text.
  if (step.preset != "gpt2") config->set_block_size(step.length);
  const auto trainer = std::make_shared<Trainer>(
      config->make(), random_tokens(step.vocab_size, step.length), train);
  return {.run = [trainer] { trainer->step(); },
          .flops = trainer->model().step_flops(train.batch_size, step.length),
          .tokens = static_cast<double>(train.batch_size * step.length)};
}

std::vector<BenchCase> steps() {
  std::vector<BenchCase> cases;
  for (const Step& step : std::initializer_list<Step>{
           {"makemore", "makemore", 27, 16},
           {"makemore-mlp", "makemore-mlp", 27, 16},
           {"makemore-bow", "makemore-bow", 27, 16},
           {"makemore-rnn", "makemore-rnn", 27, 16},
           {"makemore-gru", "makemore-gru", 27, 16},
           {"makemore-bigram", "makemore-bigram", 27, 16},
           {"nanogpt-cpu", "nanogpt-cpu", 65, 64},
           {"shakespeare-char", "shakespeare-char", 65, 256},
           {"gpt2-b4-t64", "gpt2", 50257, 64, 4},
           {"gpt2-b1-t1024", "gpt2", 50257, 1024, 1}})
    cases.push_back({std::string(step.name),
                     fmt::format("training step of {}, {} tokens a sequence",
                                 step.preset, step.length),
                     [step] { return step_work(step); }});
  return cases;
}

const RegisterBench kSteps(steps());

}  // namespace
}  // namespace qkv::cli::bench
