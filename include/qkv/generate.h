// Generation: choosing tokens, and the engine that runs several sequences. An
// Engine is for one thread; several threads may each have one over one model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "qkv/export.h"
#include "qkv/fields.h"
#include "qkv/model.h"

namespace qkv::generate {

// In this order: temperature divides the logits; top-k keeps the k likeliest
// and all that tie with the last of them; top-p keeps the likeliest tokens up
// to and with the one whose sum of probabilities reaches p.
struct SampleOptions {
  double temperature = 1;  // 0: always the likeliest, the lowest id of equals
  std::int64_t top_k = 0;  // 0, or at least V: all
  double top_p = 1;        // 1: all
  std::uint64_t seed = 0;  // random number i of a sequence is (seed, i)
};

// Throws naming field and value: temperature below 0 or not finite, top_k below
// 0, top_p outside (0,1].
QKV_API void validate(const SampleOptions& options);

// Chooses among logits (V numbers) with u in [0,1). Throws (numeric) when one
// is NaN or +Inf, or all are -Inf. Temperature 0 does not look at u.
class QKV_API Sampler {
 public:
  explicit Sampler(const SampleOptions& options);
  std::int64_t pick(std::span<const float> logits, double u);
  // The probabilities that pick chooses by, 0 for what was cut; sums to 1.
  const std::vector<double>& probabilities(std::span<const float> logits);

 private:
  SampleOptions options_;
  std::vector<double> probabilities_;
  std::vector<std::int64_t> order_;
};

struct Request {
  std::vector<std::int64_t> prompt = {};  // at least one id
  std::int64_t max_tokens = 100;
  std::vector<std::int64_t> stop = {};  // generation ends at one of these
  SampleOptions options = {};
  std::int64_t vocab_size = 0;  // only ids below are chosen; 0: all
  // Called for each new token (a stop token too); false ends the sequence.
  std::function<bool(std::int64_t token)> on_token = {};
};

// Several sequences at once over one model: each has a slot of its cache, one
// forward pass a step serves all. What a request gives does not depend on which
// others run beside it.
//
// Past the context: a model with positions up to block_size sees the last
// block_size tokens, and each new token computes that window anew. A prompt
// longer than that is cut to its last block_size tokens.
class QKV_API Engine {
 public:
  Engine(LanguageModel& model, int slots);

  // Throws on an empty prompt or ids outside the vocabulary. It waits for a
  // free slot. Returns its number, counted from 0.
  std::int64_t add(Request request);
  bool busy() const;
  // One token for every running sequence; starts those that wait.
  void step();
  // step() until nothing runs.
  void run();

 private:
  struct Sequence {
    std::int64_t id = 0;
    Request request;
    Sampler sampler;
    std::vector<std::int64_t> tokens;  // prompt and what was generated
    std::int64_t generated = 0;
    int slot = -1;
    bool done = false;
  };
  // Runs `count` last tokens of each sequence and lets each choose.
  void forward(std::span<Sequence* const> sequences, std::int64_t count);
  void choose(Sequence& sequence, std::span<const float> logits);

  LanguageModel& model_;
  std::unique_ptr<DecodeState> state_;
  std::vector<Sequence> running_, waiting_;
  std::vector<int> free_slots_;
  std::int64_t next_id_ = 0;
};

// One sequence: the new tokens, without the stop token.
QKV_API std::vector<std::int64_t> generate(LanguageModel& model,
                                           const Request& request);

}  // namespace qkv::generate

namespace qkv {

template <class Visitor>
void visit_fields(Visitor&& visit, generate::SampleOptions& o) {
  visit(o.temperature,
        Field{"temperature", "0 always takes the likeliest token", 0, 1e6});
  visit(o.top_k, Field{"top_k", "choose among the k likeliest, 0: all", 0});
  visit(o.top_p,
        Field{"top_p", "choose among the likeliest that sum to p", 0, 1, true});
}

}  // namespace qkv
