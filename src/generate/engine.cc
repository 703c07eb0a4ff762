#include <algorithm>

#include "core/check.h"
#include "qkv/autograd.h"
#include "qkv/generate.h"

namespace qkv::generate {
namespace {

// The stream of random numbers that choose tokens.
const std::uint64_t kChoice = stream_id("generate.choice");

}  // namespace

Engine::Engine(LanguageModel& model, int slots)
    : model_(model), state_(model.new_state(slots)) {
  for (int slot = slots - 1; slot >= 0; --slot) free_slots_.push_back(slot);
}

std::int64_t Engine::add(Request request) {
  if (request.prompt.empty())
    fail_input("[generate] the prompt is empty: it needs at least one token");
  for (std::size_t i = 0; i < request.prompt.size(); ++i)
    if (request.prompt[i] < 0 || request.prompt[i] >= model_.vocab_size())
      fail_input("[generate] id {} at position {} is outside 0..{}",
                 request.prompt[i], i, model_.vocab_size() - 1);
  Sequence sequence{next_id_, request, Sampler(request.options), request.prompt,
                    0,        -1,      request.max_tokens <= 0};
  waiting_.push_back(std::move(sequence));
  return next_id_++;
}

bool Engine::busy() const { return !running_.empty() || !waiting_.empty(); }

void Engine::run() {
  while (busy()) step();
}

void Engine::step() {
  NoGrad no_grad;
  // New sequences run their prompt alone: how a prompt is computed must not
  // depend on who else is there.
  std::vector<Sequence> started;
  while (!waiting_.empty() && !free_slots_.empty()) {
    Sequence sequence = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    if (sequence.done) continue;
    sequence.slot = free_slots_.back();
    free_slots_.pop_back();
    started.push_back(std::move(sequence));
  }
  const std::size_t old = running_.size();
  for (Sequence& sequence : started) running_.push_back(std::move(sequence));

  std::vector<Sequence*> one_token;
  std::vector<Sequence*> whole;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Sequence& s = running_[i];
    const bool full = state_->length(s.slot) >= model_.block_size();
    (i >= old || full ? whole : one_token).push_back(&s);
  }
  if (!one_token.empty()) forward(one_token, 1);
  for (Sequence* sequence : whole) {
    state_->clear(sequence->slot);
    forward(std::span(&sequence, 1),
            std::min(static_cast<std::int64_t>(sequence->tokens.size()),
                     model_.block_size()));
  }
  std::erase_if(running_, [&](const Sequence& s) {
    if (s.done) {
      state_->clear(s.slot);
      free_slots_.push_back(s.slot);
    }
    return s.done;
  });
}

void Engine::forward(std::span<Sequence* const> sequences, std::int64_t count) {
  const auto rows = static_cast<std::int64_t>(sequences.size());
  Tensor ids = Tensor::empty({rows, count}, DType::i64);
  state_->active.clear();
  for (std::int64_t r = 0; r < rows; ++r) {
    const Sequence& s = *sequences[r];
    std::copy(s.tokens.end() - count, s.tokens.end(),
              ids.data<std::int64_t>() + r * count);
    state_->active.push_back(s.slot);
  }
  Context context;
  context.state = state_.get();
  const Tensor logits = model_.logits(ids, context);  // (rows,count,V)
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto last = slice(slice(logits, 0, r, r + 1), 1, count - 1, count)
                          .to_vector<float>();
    choose(*sequences[r], last);
  }
}

void Engine::choose(Sequence& s, std::span<const float> logits) {
  const StepRng rng{.seed = s.request.options.seed};
  const double u =
      rng.uniform(kChoice, static_cast<std::uint64_t>(s.generated));
  std::int64_t token;
  if (s.request.vocab_size > 0)
    logits = logits.first(
        std::min<std::size_t>(logits.size(), s.request.vocab_size));
  try {
    token = s.sampler.pick(logits, u);
  } catch (const Error& error) {
    fail_numeric("[generate] token {}: {}", s.generated, error.what());
  }
  s.tokens.push_back(token);
  ++s.generated;
  const bool stop = std::find(s.request.stop.begin(), s.request.stop.end(),
                              token) != s.request.stop.end();
  const bool go_on = !s.request.on_token || s.request.on_token(token);
  s.done = stop || !go_on || s.generated >= s.request.max_tokens;
}

std::vector<std::int64_t> generate(LanguageModel& model,
                                   const Request& request) {
  std::vector<std::int64_t> tokens;
  Request own = request;
  own.on_token = [&](std::int64_t token) {
    if (std::find(request.stop.begin(), request.stop.end(), token) ==
        request.stop.end())
      tokens.push_back(token);
    return !request.on_token || request.on_token(token);
  };
  Engine engine(model, 1);
  engine.add(std::move(own));
  engine.run();
  return tokens;
}

}  // namespace qkv::generate
