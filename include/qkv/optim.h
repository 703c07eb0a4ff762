// Optimizers, gradient clipping and learning-rate schedules.
//   auto adamw = optim::adamw(
//       optim::parameters_of(model.parameters(), optim::DecayRule::matrices),
//       {.weight_decay = 0.1});
//   backward(loss);
//   const double norm = optim::grad_norm(adamw->parameters());
//   adamw->step(schedule.at(k), optim::clip_scale(norm, 1.0));
//   adamw->zero_grad();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/export.h"
#include "qkv/fields.h"
#include "qkv/tensor.h"

namespace qkv {
namespace optim {

// ---- Schedules

enum class ScheduleKind { constant, linear, cosine, step };

// The learning rate of update k = 0, 1, …: a function of k alone, so a resumed
// run needs no more than its step.
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

  double at(std::int64_t k) const;  // throws as validate
};

// Throws naming field and value: rates that are negative, not finite or out of
// order, a decay that would end before the warm-up.
QKV_API void validate(const Schedule& schedule);

// ---- Which parameters decay

// all: every parameter (PyTorch's default, makemore). matrices: those with two
// or more axes, embeddings included (nanoGPT). linear: the weights of linear
// layers only: no embedding, bias or norm (minGPT).
enum class DecayRule { all, matrices, linear };

// A parameter that training changes.
struct Parameter {
  std::string name;
  Tensor tensor;
  bool decays = true;
};

// Those of a model that require a gradient, each storage once: of several names
// for one tensor (a tied head) the first stays, and it counts as a table when
// any of them is one. Throws when two share memory but not their gradient.
QKV_API std::vector<Parameter> parameters_of(
    const std::vector<NamedTensor>& parameters, DecayRule rule);

// ---- Clipping

// The norm of all gradients together, squares summed in f64. Parameters without
// a gradient count as 0.
QKV_API double grad_norm(const std::vector<Parameter>& parameters);
// What clipping multiplies all gradients by: PyTorch's
// min(1, max_norm/(norm + 1e-6)); 1 where max_norm is 0, which is no clipping.
// Throws a numeric error where the norm is not finite: such gradients must not
// be applied.
QKV_API double clip_scale(double norm, double max_norm);
// Scales the gradients themselves so that their norm is at most max_norm, and
// returns what it was. Where that is not finite it changes nothing.
QKV_API double clip_grad_norm(const std::vector<Parameter>& parameters,
                              double max_norm);

// ---- Optimizers

class QKV_API Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates every parameter that has a gradient, at this learning rate, and
  // counts the update. grad_scale (clip_scale's) multiplies the gradients
  // first. Throws where either is negative or not finite, or no parameter has
  // a gradient.
  void step(double lr, double grad_scale = 1);
  void zero_grad();
  const std::vector<Parameter>& parameters() const { return parameters_; }

  // What a resume needs: the optimizer's own tensors (not copies), "m.NAME",
  // "v.NAME", … of their parameter's shape and type, and the number of updates.
  std::vector<NamedTensor> state() const;
  // Takes it back bit by bit. Wants exactly the names, shapes and types of
  // state(): else one error that lists up to ten differences, and nothing is
  // changed.
  void set_state(const std::vector<NamedTensor>& state, std::int64_t updates);
  std::int64_t updates() const { return updates_; }

 protected:
  // moments: the names of the tensors kept for each parameter, 0 at first.
  Optimizer(std::vector<Parameter> parameters,
            std::vector<std::string> moments);

  // Numbers begin … end - 1 of a parameter; moments in the constructor's order,
  // `update` counts from 1.
  struct Part {
    const Parameter& parameter;
    std::vector<Tensor>& moments;
    std::int64_t begin, end;
    double lr, grad_scale;
    std::int64_t update;
  };

 private:
  // The update of a part, on the calling thread.
  virtual void update_part(const Part& part) = 0;

  std::vector<Parameter> parameters_;
  std::vector<std::string> moment_names_;
  std::vector<std::vector<Tensor>> moments_;  // by parameter
  std::int64_t updates_ = 0;
};

// Loshchilov & Hutter 2019, in PyTorch's order of operations.
struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};
QKV_API std::unique_ptr<Optimizer> adamw(std::vector<Parameter> parameters,
                                         const AdamWOptions& options = {});

// With PyTorch's momentum: it starts as the first gradient.
struct SgdOptions {
  double momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
QKV_API std::unique_ptr<Optimizer> sgd(std::vector<Parameter> parameters,
                                       const SgdOptions& options = {});

}  // namespace optim

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
