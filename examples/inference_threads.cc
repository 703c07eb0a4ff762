// Several threads run one model, each with a state of its own, and each says
// what it says alone.   example_inference_threads [THREADS]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "qkv/generate.h"
#include "qkv/runtime.h"
#include "qkv/train.h"

using namespace qkv;

namespace {

// generate() makes the state (the cache of keys and values) of its sequence.
std::string answer(LanguageModel& model, const Tokenizer& tokenizer,
                   const std::string& question) {
  const generate::Request request{.prompt = encode_prompt(tokenizer, question),
                                  .stop = {*tokenizer.stop_token()},
                                  .options = {.temperature = 0}};
  return question + tokenizer.decode(generate::generate(model, request));
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 4;
  nn::manual_seed(1337);
  auto dataset = data::open({.task = "sort"}, {}, nn::default_rng());
  auto model = make_gpt({.vocab_size = dataset->tokenizer().vocab_size(),
                         .block_size = dataset->block_size(),
                         .n_layer = 2,
                         .n_embd = 64});
  dataset->start(nn::default_rng());
  Trainer trainer(std::move(model), std::move(dataset),
                  {.steps = 400, .eval_every = 0});
  trainer.run();

  // A program with threads of its own lets each computation have one.
  runtime::set_threads(1);
  const data::Dataset& data = trainer.dataset();
  const std::size_t n = 40;
  std::vector<std::string> alone(n), together(n);
  for (std::size_t i = 0; i < n; ++i)
    alone[i] = answer(trainer.model(), data.tokenizer(), data.prompt(i));

  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < n; i += count)
        together[i] = answer(trainer.model(), data.tokenizer(), data.prompt(i));
    });
  for (std::thread& thread : threads) thread.join();

  int right = 0, same = 0;
  for (std::size_t i = 0; i < n; ++i) {
    right += data.judge(together[i]) == "right";
    same += together[i] == alone[i];
  }
  std::printf("%s, %s\n", together[0].c_str(), data.judge(together[0]).c_str());
  std::printf("%d threads: %zu questions, %d answered right, %d as alone\n",
              count, n, right, same);
  return same == static_cast<int>(n) ? 0 : 1;
}
