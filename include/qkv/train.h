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
#include "qkv/model.h"
#include "qkv/optim.h"
#include "qkv/train_config.h"

namespace qkv {

// ---- Events
// ------------------------------------------------------------------

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
// ----------------------------------------------------------------

struct TrainLimits {
  std::int64_t stop_at = -1;  // ends after this many updates; -1: at steps
  double max_seconds = 0;     // of training in this process; 0: no limit
  // Asked after every update and during evaluations, which it ends; once true
  // it stays so.
  std::function<bool()> interrupted = {};
};

class QKV_API Trainer {
 public:
  // data_config is kept in the checkpoints, so that a resume can open the same
  // data. directory: where last.safetensors and best.safetensors go; empty:
  // none are written.
  Trainer(std::unique_ptr<LanguageModel> model,
          std::unique_ptr<data::Dataset> dataset, const TrainConfig& config,
          std::string directory = {}, std::string data_config = {});
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
  void count_examples();
  TrainEnd run_to_end(const TrainLimits& limits);
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
  std::int64_t saved_ = -1;      // and of last.safetensors, in this process
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

}  // namespace qkv
