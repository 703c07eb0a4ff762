// Trains a small GPT on English words and lets it make some up; where the word
// list is not installed it learns to sort digits.   example_train_gpt [STEPS]
#include <cstdio>
#include <cstdlib>

#include "qkv/generate.h"
#include "qkv/train.h"

using namespace qkv;

namespace {

std::unique_ptr<data::Dataset> words_or_digits(TorchRng& rng) {
  try {
    return data::open({}, {}, rng);
  } catch (const data::WordListMissing&) {
    return data::open({.task = "sort"}, {}, rng);
  }
}

struct PrintLosses : TrainObserver {
  void on_evaluation(const TrainEvaluation& e) override {
    std::printf("step %4ld: train loss %.3f, validation loss %.3f\n", e.step,
                e.train_loss, e.validation_loss);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::atol(argv[1]) : 1000;
  nn::manual_seed(1337);
  auto dataset = words_or_digits(nn::default_rng());
  std::printf("%s\n", dataset->describe().c_str());
  auto model = make_gpt({.vocab_size = dataset->tokenizer().vocab_size(),
                         .block_size = dataset->block_size(),
                         .n_embd = 64});
  dataset->start(nn::default_rng());  // the order: after the weights
  std::printf("%ld parameters\n", model->parameter_count());

  Trainer trainer(std::move(model), std::move(dataset),
                  {.steps = steps, .eval_every = steps / 4});
  PrintLosses print_losses;
  trainer.add(print_losses);
  trainer.run();

  const data::Dataset& data = trainer.dataset();
  for (int i = 0; i < 8; ++i) {
    const generate::Request request{
        .prompt = encode_prompt(data.tokenizer(), data.prompt(i)),
        .stop = {*data.tokenizer().stop_token()},
        .options = {.seed = std::uint64_t(i)}};
    const std::string text =
        data.prompt(i) +
        data.tokenizer().decode(generate::generate(trainer.model(), request));
    std::printf("%-20s %s\n", text.c_str(), data.judge(text).c_str());
  }
}
