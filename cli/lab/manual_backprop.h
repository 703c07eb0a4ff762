// The MLP with BatchNorm of the lecture on backpropagation, taken apart into
// 26 named intermediate results: the gradient of each by a formula written by
// hand, beside the tape's.
#pragma once

#include <string>
#include <vector>

#include "qkv/rng.h"
#include "qkv/tensor.h"

namespace qkv::cli::lab {

struct MlpWeights {
  static constexpr std::int64_t kContext = 3, kEmbedding = 10, kHidden = 64;
  Tensor c;           // (V, kEmbedding)
  Tensor w1, b1;      // (kContext · kEmbedding, kHidden), (kHidden)
  Tensor w2, b2;      // (kHidden, V), (V)
  Tensor gain, bias;  // of the BatchNorm, (1, kHidden)
};

// In f32 and in the lecture's order. Nothing begins at 0 or 1, where a wrong
// formula could pass.
MlpWeights draw_mlp_weights(TorchRng& rng, std::int64_t vocab);

struct CheckedGradient {
  std::string name;
  Tensor gradient;     // by hand, in the shape of what it is the gradient of
  double size = 0;     // its largest element's
  double largest = 0;  // difference to the tape's
  bool exact = false;  // to the bit
  bool close = false;  // within 1e-8 + 1e-5 · |the tape's|
};

struct ManualBackprop {
  double loss = 0;
  std::vector<CheckedGradient> named;  // from logprobs back to C
  // logits and hprebn by one formula each.
  std::vector<CheckedGradient> at_once;
  Tensor dlogits;  // (n, V)
};

// ids (n, kContext), targets (n): i64. Computes in dtype.
ManualBackprop manual_backprop(const MlpWeights& weights, const Tensor& ids,
                               const Tensor& targets, DType dtype);

}  // namespace qkv::cli::lab
