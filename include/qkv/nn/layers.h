// The layers that every model is made of. Initial values are PyTorch's, drawn
// from default_rng() in construction order. forward throws Error (input) as the
// operation of the same name in qkv/ops.h.
#pragma once

#include <cstdint>

#include "qkv/export.h"
#include "qkv/nn/module.h"

namespace qkv::nn {

// y = x Wᵀ + b; weight (out,in), bias (out) or none. x (…,in) -> (…,out).
// Initial values U(-1/√in, 1/√in), weight then bias.
class QKV_API Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool bias = true);
  Tensor forward(const Tensor& x) const;
  // In cached generation, x (B,T,in): its bits do not depend on how many
  // sequences share the call.
  Tensor forward(const Tensor& x, const Context& context) const;

  Tensor weight, bias;
};

// Rows of a table by id: weight (rows,width), N(0,1). ids (…) i64 -> (…,width).
class QKV_API Embedding : public Module {
 public:
  Embedding(std::int64_t rows, std::int64_t width);
  Tensor forward(const Tensor& ids) const;

  Tensor weight;
};

// Over the last axis: (x - mean)/√(var + eps) · weight + bias, var with 1/n.
class QKV_API LayerNorm : public Module {
 public:
  explicit LayerNorm(std::int64_t width, bool bias = true, double eps = 1e-5);
  Tensor forward(const Tensor& x) const;

  Tensor weight, bias;
  double eps;
};

// Of each column, over all other axes (for (B,T,C) over the first two). In
// training with the batch's own statistics, which its running averages follow
// by `momentum`; else with these. PyTorch's names and initial values.
struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;
  // As the lecture on BatchNorm first writes it: divides by the unbiased
  // standard deviation, and averages that instead of the variance.
  bool by_deviation = false;
};
class QKV_API BatchNorm1d : public Module {
 public:
  explicit BatchNorm1d(std::int64_t width,
                       const BatchNormOptions& options = {});
  // Throws, before anything is changed, when training has one row.
  Tensor forward(const Tensor& x, const Context& context);

  Tensor weight, bias;
  Tensor running_mean, running_var;  // buffers; num_batches_tracked as well
  const BatchNormOptions options;

 private:
  Tensor batches_;  // i64 scalar
};

// In training: zero with probability p, else times 1/(1-p), by the
// counter-based generator at (seed, step, this module's path, element). Else
// the identity.
class QKV_API Dropout : public Module {
 public:
  explicit Dropout(double p);
  Tensor forward(const Tensor& x, const Context& context) const;

  double p;
};

}  // namespace qkv::nn
