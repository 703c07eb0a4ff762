// Optimizers, learning-rate schedules and gradient clipping.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/export.h"
#include "qkv/fields.h"
#include "qkv/nn/module.h"
#include "qkv/tensor.h"

namespace qkv::optim {

// ---- Schedules
// ----------------------------------------------------------------

enum class ScheduleKind { constant, linear, cosine, step };

// The learning rate of update k = 0, 1, …: a pure function of k.
// Warm-up: lr·(k+1)/(warmup_steps+1) for k < warmup_steps. Then
// constant: lr. linear, cosine: from lr at warmup_steps to min_lr at
// decay_steps and after it; cosine as min_lr + (1+cos(π·x))/2·(lr-min_lr).
// step: lr·factor^⌊k/every⌋.
struct QKV_API Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double lr = 1e-3;
  double min_lr = 0;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;
  std::int64_t step_every = 1000;
  double step_factor = 0.1;

  double at(std::int64_t k) const;
};

// ---- Which parameters decay
// ---------------------------------------------------

// all: every parameter. matrices: those with two or more axes. linear: the
// weights of linear layers only: no embedding, bias or norm.
enum class DecayRule { all, matrices, linear };

// A parameter that training changes, each storage once however often it is
// tied.
struct Parameter {
  std::string name;
  Tensor tensor;
  bool decays = true;
};
QKV_API std::vector<Parameter> parameters_of(const nn::Module& module,
                                             DecayRule rule);

// ---- Clipping
// -----------------------------------------------------------------

// The norm of all gradients together, squares summed in f64. Parameters without
// a gradient count as 0.
QKV_API double grad_norm(const std::vector<Parameter>& parameters);

// ---- Optimizers
// ---------------------------------------------------------------

class QKV_API Optimizer {
 public:
  virtual ~Optimizer();
  // Updates every parameter that has a gradient, at this learning rate.
  // grad_scale multiplies the gradients first: clipping to max_norm is a scale
  // of max_norm / norm where norm > max_norm, for all alike.
  virtual void step(double lr, double grad_scale = 1) = 0;
  void zero_grad();
  const std::vector<Parameter>& parameters() const { return parameters_; }

  // What a resume needs: "m.NAME", "v.NAME", … in f32 or f64 as they are, and
  // the number of updates. set_state wants exactly the names of state().
  virtual std::vector<nn::NamedTensor> state() const = 0;
  void set_state(const std::vector<nn::NamedTensor>& state,
                 std::int64_t updates);
  std::int64_t updates() const { return updates_; }

 protected:
  explicit Optimizer(std::vector<Parameter> parameters);
  std::vector<Parameter> parameters_;
  std::int64_t updates_ = 0;
};

// Loshchilov & Hutter 2019, in PyTorch's order of operations.
struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};
QKV_API std::unique_ptr<Optimizer> adamw(std::vector<Parameter> parameters,
                                         const AdamWOptions& options);

struct SgdOptions {
  double momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
QKV_API std::unique_ptr<Optimizer> sgd(std::vector<Parameter> parameters,
                                       const SgdOptions& options);

}  // namespace qkv::optim

namespace qkv {

template <>
struct EnumNames<optim::ScheduleKind> {
  static constexpr std::string_view names[] = {"constant", "linear", "cosine",
                                               "step"};
};
template <>
struct EnumNames<optim::DecayRule> {
  static constexpr std::string_view names[] = {"all", "matrices", "linear"};
};

}  // namespace qkv
