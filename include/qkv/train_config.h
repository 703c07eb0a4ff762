// What a training is set to, and the published settings there are.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "qkv/export.h"
#include "qkv/fields.h"
#include "qkv/model.h"
#include "qkv/optim.h"

namespace qkv {

enum class OptimizerKind { adamw, sgd };
template <>
struct EnumNames<OptimizerKind> {
  static constexpr std::string_view names[] = {"adamw", "sgd"};
};

struct TrainConfig {
  std::int64_t steps = 5000;
  std::int64_t batch_size = 32;
  std::int64_t grad_accumulation = 1;
  OptimizerKind optimizer = OptimizerKind::adamw;
  double lr = 1e-3;
  optim::ScheduleKind schedule = optim::ScheduleKind::constant;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;
  double min_lr = 0;
  std::int64_t step_every = 1000;
  double step_factor = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.01;
  optim::DecayRule decay = optim::DecayRule::all;
  double momentum = 0.9;
  double grad_clip = 0;
  std::int64_t eval_every = 500;
  std::int64_t eval_batches = 20;
  std::int64_t save_every = 0;
  std::int64_t seed = 1337;
};

template <class Visitor>
void visit_fields(Visitor&& visit, TrainConfig& c) {
  constexpr double kMany = 1e15;
  visit(c.steps, Field{"steps", "updates of the weights", 0, kMany});
  visit(c.batch_size, Field{"batch_size", "sequences a batch", 1, 1 << 24});
  visit(c.grad_accumulation,
        Field{"grad_accumulation", "batches whose gradients make one update", 1,
              1 << 24});
  visit(c.optimizer, Field{"optimizer", "AdamW, or SGD with momentum"});
  visit(c.lr, Field{"lr", "learning rate after the warm-up", 0, 1e6, true});
  visit(c.schedule, Field{"schedule", "course of the learning rate"});
  visit(c.warmup_steps,
        Field{"warmup_steps", "updates over which the rate rises", 0, kMany});
  visit(c.decay_steps,
        Field{"decay_steps",
              "where linear and cosine reach min_lr, 0: at steps", 0, kMany});
  visit(c.min_lr, Field{"min_lr", "learning rate at the end", 0, 1e6});
  visit(c.step_every,
        Field{"step_every", "schedule step: updates between two drops", 1,
              kMany});
  visit(c.step_factor,
        Field{"step_factor", "schedule step: factor of each drop", 0, 1, true});
  visit(c.beta1, Field{"beta1", "AdamW's mean of gradients", 0, 0.999999});
  visit(c.beta2, Field{"beta2", "AdamW's mean of squares", 0, 0.999999});
  visit(c.eps, Field{"eps", "AdamW's smallest denominator", 0, 1, true});
  visit(c.weight_decay,
        Field{"weight_decay", "share of the weights taken off a step, times lr",
              0, 1e6});
  visit(c.decay, Field{"decay", "which parameters decay"});
  visit(c.momentum, Field{"momentum", "of sgd", 0, 0.999999});
  visit(c.grad_clip,
        Field{"grad_clip", "largest norm of all gradients, 0: no limit", 0,
              1e30});
  visit(c.eval_every,
        Field{"eval_every", "updates between evaluations, 0: only at the end",
              0, kMany});
  visit(c.eval_batches,
        Field{"eval_batches",
              "batches of an evaluation, spread over the split, 0: all of it",
              0, kMany});
  visit(c.save_every,
        Field{"save_every", "updates between checkpoints, 0: at evaluations", 0,
              kMany});
  visit(c.seed, Field{"seed", "of weights, data order and dropout", 0, kMany});
}

// Throws naming the fields: a warm-up longer than the run, min_lr above lr.
QKV_API void validate(const TrainConfig& config);

// A published setting: model and training together.
struct Preset {
  std::string_view name, help;
  std::string_view model_kind;
  // Fields as JSON, over the defaults; data: how the data are cut.
  std::string_view model, train, data = "{}";
};
QKV_API const std::vector<Preset>& presets();
// Throws with the nearest name.
QKV_API const Preset& preset(std::string_view name);
// A new model configuration, and the fields of train that the preset sets.
QKV_API std::unique_ptr<ModelConfig> apply_preset(const Preset& preset,
                                                  TrainConfig& train);

}  // namespace qkv
