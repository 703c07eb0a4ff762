// What travels beside the numbers through a model's forward pass: whether it
// trains, its randomness, the state of cached generation, and a tap for
// looking.
#pragma once

#include <string_view>

#include "qkv/export.h"
#include "qkv/rng.h"
#include "qkv/tensor.h"

namespace qkv {

// A place in a model: {3, "attn.q"} is the queries of block 3. Layer -1 holds
// what stands outside the blocks ("embed", "ln_f", "logits").
struct Site {
  int layer;
  std::string_view name;
};

// Looks at, or replaces, what passes a site.
struct QKV_API Tap {
  virtual ~Tap();
  // Whether at() is to be called. A site not wanted costs one branch.
  virtual bool wants(Site site) const = 0;
  // Gets the value, returns what the model goes on with (same shape and dtype).
  virtual Tensor at(Site site, Tensor value) = 0;
};

struct DecodeState;  // of cached generation: qkv/model.h

struct Context {
  bool training = false;         // dropout on
  const StepRng* rng = nullptr;  // needed when dropout acts
  DecodeState* state = nullptr;  // cached generation
  Tap* tap = nullptr;
};

}  // namespace qkv
