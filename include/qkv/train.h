// Training: the loop, its evaluation and its checkpoints. It prints nothing and
// knows no sink: what happens goes to observers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "qkv/data.h"
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
  visit(c.optimizer, Field{"optimizer", "adamw, or sgd with momentum"});
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

// ---- Events
// -------------------------------------------------------------------

struct TrainStep {
  std::int64_t step = 0;   // updates done, this one included
  std::int64_t steps = 0;  // of the whole run
  double loss = 0;         // of this step's batches, before the update
  double lr = 0;
  double grad_norm = 0;     // before clipping
  double seconds = 0;       // of this step
  double elapsed = 0;       // seconds of training, evaluations not counted
  std::int64_t tokens = 0;  // of this step: positions, counted or not
  std::int64_t tokens_seen = 0;
};
struct TrainEvaluation {
  std::int64_t step = 0;
  double train_loss = 0;
  double validation_loss = 0;  // NaN when there is no validation split
  bool best = false;
  double seconds = 0;
};
struct TrainSaved {
  std::int64_t step = 0;
  std::string path;
};
enum class TrainEnd { finished, stopped, out_of_time, interrupted };

class Trainer;
class QKV_API TrainObserver {
 public:
  virtual ~TrainObserver();
  virtual void on_start(const Trainer&) {}
  virtual void on_step(const TrainStep&) {}
  virtual void on_evaluation(const TrainEvaluation&) {}
  virtual void on_saved(const TrainSaved&) {}
  virtual void on_end(const Trainer&, TrainEnd) {}
};

// ---- The loop
// -----------------------------------------------------------------

struct TrainLimits {
  std::int64_t stop_at = -1;  // ends after this many updates; -1: at steps
  double max_seconds = 0;     // of training in this process; 0: no limit
  // Asked after every update and during evaluations, which it ends; once true
  // it stays so.
  std::function<bool()> interrupted;
};

class QKV_API Trainer {
 public:
  // data_config is kept in the checkpoints, so that a resume can open the same
  // data. directory: where last.safetensors and best.safetensors go; empty:
  // none are written.
  Trainer(std::unique_ptr<LanguageModel> model,
          std::unique_ptr<data::Dataset> dataset, const TrainConfig& config,
          std::string directory, std::string data_config);
  ~Trainer();

  void add(TrainObserver& observer);  // which outlives the trainer

  // Continues from a checkpoint that save() wrote: the next step is bit for bit
  // the one that would have come. Throws, with a line for each field that
  // differs, when it does not belong to this model, data and configuration.
  void resume(const std::string& checkpoint);

  // Trains until done. Evaluates and saves before the first update, too. Throws
  // (numeric) on the first NaN or Inf, naming the tensor: no checkpoint is
  // overwritten then.
  TrainEnd run(const TrainLimits& limits = {});

  // One update, without evaluation and checkpoint.
  TrainStep step();
  TrainEvaluation evaluate();
  // Writes everything a resume needs, in one atomic file.
  void save(const std::string& path);

  LanguageModel& model() const { return *model_; }
  const data::Dataset& dataset() const { return *dataset_; }
  const TrainConfig& config() const { return config_; }
  const std::string& directory() const { return directory_; }
  std::int64_t steps_done() const { return done_; }
  double best_validation_loss() const { return best_; }
  std::int64_t best_step() const { return best_step_; }
  double elapsed() const { return elapsed_; }
  std::int64_t tokens_seen() const { return tokens_seen_; }

 private:
  double accumulate_gradients();
  [[noreturn]] void name_the_nonfinite(double loss, std::int64_t step);
  void check_weights_finite() const;
  double split_loss(data::Split split);
  void save_last();

  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<data::Dataset> dataset_;
  TrainConfig config_;
  std::string directory_, data_config_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  optim::Schedule schedule_;
  std::vector<nn::NamedTensor> parameters_;
  std::vector<TrainObserver*> observers_;
  std::int64_t done_ = 0, tokens_seen_ = 0, best_step_ = -1;
  std::int64_t evaluated_ = -1;  // the step of the last evaluation
  double best_ = 0, elapsed_ = 0;
  data::Batch batch_;  // the last one, and what its forward drew from
  StepRng rng_;
  std::function<bool()> interrupted_;  // of the run that goes on; may be empty
};

struct SplitLoss {
  double mean = 0;          // nats per counted target; NaN when there is none
  std::int64_t tokens = 0;  // counted targets
  std::int64_t bytes = 0;   // of text that they stand for
};
// The loss over a split: all its examples, or `batches` batches spread evenly
// over it. Ends early, with the loss so far, when `stop`, asked before each
// batch, says so.
QKV_API SplitLoss measure_loss(LanguageModel& model,
                               const data::Dataset& dataset, data::Split split,
                               std::int64_t batch_size, std::int64_t batches,
                               const std::function<bool()>& stop = {});

// What counting pairs of neighbours in the training split, plus one each, gives
// as mean loss on a split: the least that a model should beat.
QKV_API double counted_bigram_loss(const data::Dataset& dataset,
                                   data::Split split);

// ---- Presets
// ------------------------------------------------------------------

// A published setting: model and training together.
struct Preset {
  std::string_view name, help;
  std::string_view model_kind;
  std::string_view model, train;  // fields as JSON, over the defaults
};
QKV_API const std::vector<Preset>& presets();
// Throws with the nearest name.
QKV_API const Preset& preset(std::string_view name);
// A new model configuration, and the fields of train that the preset sets.
QKV_API std::unique_ptr<ModelConfig> apply_preset(const Preset& preset,
                                                  TrainConfig& train);

}  // namespace qkv
