#include <gtest/gtest.h>

#include "qkv/autograd.h"
#include "qkv/generate.h"
#include "tests/support/errors.h"

namespace qkv::generate {
namespace {

constexpr std::int64_t kContext = 8;

std::unique_ptr<LanguageModel> tiny_model() {
  nn::manual_seed(4);
  return make_gpt({.vocab_size = 9,
                   .block_size = kContext,
                   .n_layer = 2,
                   .n_head = 2,
                   .n_embd = 16,
                   .init = Init::torch_default});
}

// Without a cache: the whole window anew for every token.
std::vector<std::int64_t> by_hand(LanguageModel& model,
                                  const Request& request) {
  NoGrad no_grad;
  Sampler sampler(request.options);
  std::vector<std::int64_t> tokens = request.prompt;
  for (std::int64_t i = 0; i < request.max_tokens; ++i) {
    const auto window = std::min<std::int64_t>(
        kContext, static_cast<std::int64_t>(tokens.size()));
    const Tensor ids = Tensor::from<std::int64_t>(
        {1, window},
        std::vector<std::int64_t>(tokens.end() - window, tokens.end()));
    Context context;
    const auto logits = slice(model.logits(ids, context), 1, window - 1, window)
                            .to_vector<float>();
    const StepRng rng{.seed = request.options.seed};
    tokens.push_back(
        sampler.pick(logits, rng.uniform(stream_id("generate.choice"),
                                         static_cast<std::uint64_t>(i))));
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(request.prompt.size()),
          tokens.end()};
}

TEST(Engine, GivesWhatTheModelWithoutACacheGives) {
  auto model = tiny_model();
  // Greedy and drawn, to and far past the context; prompts of 7, 8 and 9.
  for (const std::size_t prompt : {1, 7, 8, 9, 30})
    for (const double temperature : {0.0, 1.0}) {
      Request request;
      for (std::size_t i = 0; i < prompt; ++i)
        request.prompt.push_back(static_cast<std::int64_t>(i * 5 % 9));
      request.max_tokens = 20;
      request.options = {.temperature = temperature, .seed = 12};
      EXPECT_EQ(generate(*model, request), by_hand(*model, request))
          << "prompt of " << prompt << ", temperature " << temperature;
    }
}

TEST(Engine, ARequestDoesNotDependOnItsNeighbours) {
  auto model = tiny_model();
  std::vector<Request> requests;
  for (std::int64_t i = 0; i < 7; ++i) {
    Request request;
    request.prompt.assign(static_cast<std::size_t>(1 + i), i);
    request.max_tokens = 5 + 2 * i;
    request.options.seed = static_cast<std::uint64_t>(i);
    requests.push_back(request);
  }
  for (const int slots : {1, 3, 7}) {
    std::vector<std::vector<std::int64_t>> together(requests.size());
    Engine engine(*model, slots);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Request request = requests[i];
      request.on_token = [&together, i](std::int64_t token) {
        together[i].push_back(token);
        return true;
      };
      engine.add(request);
    }
    engine.run();
    for (std::size_t i = 0; i < requests.size(); ++i)
      EXPECT_EQ(together[i], generate(*model, requests[i]))
          << slots << " slots";
  }
}

TEST(Engine, EndsAtAStopTokenAndWhenTold) {
  auto model = tiny_model();
  Request request{.prompt = {1}, .max_tokens = 50};
  request.options.temperature = 0;
  const auto free = generate(*model, request);
  ASSERT_EQ(free.size(), 50u);
  request.stop = {free[0]};
  EXPECT_TRUE(generate(*model, request).empty());
  request.stop.clear();
  int seen = 0;
  request.on_token = [&](std::int64_t) { return ++seen < 3; };
  EXPECT_EQ(generate(*model, request).size(), 3u);
  request.max_tokens = 0;
  EXPECT_TRUE(generate(*model, request).empty());
}

TEST(Engine, TokensBeyondTheTokenizerAreNeverChosen) {
  auto model = tiny_model();
  Request request{.prompt = {1}, .max_tokens = 200};
  request.vocab_size = 3;
  for (std::int64_t token : generate(*model, request)) EXPECT_LT(token, 3);
}

TEST(Engine, RefusesWhatIsNoPrompt) {
  auto model = tiny_model();
  Engine engine(*model, 1);
  EXPECT_ERROR(input, "empty", engine.add({}));
  EXPECT_ERROR(input, "id 9", engine.add({.prompt = {1, 9}}));
  EXPECT_ERROR(input, "id -1", engine.add({.prompt = {-1}}));
}

}  // namespace
}  // namespace qkv::generate
