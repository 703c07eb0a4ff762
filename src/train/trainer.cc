#include <chrono>
#include <cmath>
#include <filesystem>

#include "bundle/checkpoint.h"
#include "core/check.h"
#include "core/fields_json.h"
#include "core/json.h"
#include "ops/finite.h"
#include "qkv/autograd.h"
#include "qkv/train.h"
#include "train/nonfinite.h"

namespace qkv {
namespace {

using nlohmann::json;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ =
      std::chrono::steady_clock::now();
};

std::unique_ptr<optim::Optimizer> make_optimizer(const nn::Module& model,
                                                 const TrainConfig& c) {
  auto parameters = optim::parameters_of(model.parameters(), c.decay);
  if (c.optimizer == OptimizerKind::sgd)
    return optim::sgd(std::move(parameters),
                      {.momentum = c.momentum, .weight_decay = c.weight_decay});
  return optim::adamw(std::move(parameters), {.beta1 = c.beta1,
                                              .beta2 = c.beta2,
                                              .eps = c.eps,
                                              .weight_decay = c.weight_decay});
}

optim::Schedule make_schedule(const TrainConfig& c) {
  return {.kind = c.schedule,
          .lr = c.lr,
          .min_lr = c.min_lr,
          .warmup_steps = c.warmup_steps,
          .decay_steps = c.decay_steps > 0 ? c.decay_steps : c.steps,
          .step_every = c.step_every,
          .step_factor = c.step_factor};
}

json number_or_null(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

// What a checkpoint says of how far a run came.
struct SavedState {
  std::int64_t step, updates, tokens_seen, best_step, evaluated_step;
  double elapsed_seconds, best;  // best: NaN when nothing was measured
  std::string data_position;
};

SavedState read_state(const json& info, const std::string& path) {
  const std::string where = path + ": state";
  const json state = json_value(info, "state", json::object(), path);
  // A whole number; no run does more than 10^15 of anything.
  const auto count = [&](const char* name, std::int64_t least) {
    constexpr std::int64_t kMost = 1'000'000'000'000'000;
    const auto value = json_value(state, name, least - 1, where);
    if (value < least || value > kMost)
      fail_input("{}: '{}' must be a whole number from {} to {}, not {}", where,
                 name, least, kMost,
                 state.contains(name) ? json_line(state[name]) : "absent");
    return value;
  };
  SavedState saved{.step = count("step", 0),
                   .updates = count("updates", 0),
                   .tokens_seen = count("tokens_seen", 0),
                   .best_step = count("best_step", -1),
                   .evaluated_step = count("evaluated_step", -1)};
  if (saved.updates != saved.step)
    fail_input("{}: {} updates in {} steps: not of one run", where,
               saved.updates, saved.step);
  saved.elapsed_seconds = json_value(state, "elapsed_seconds", -1.0, where);
  if (!(saved.elapsed_seconds >= 0 && std::isfinite(saved.elapsed_seconds)))
    fail_input("{}: 'elapsed_seconds' must be at least 0", where);
  const json best =
      json_value(state, "best_validation_loss", json(nullptr), where);
  saved.best = best.is_number() ? best.get<double>() : std::nan("");
  saved.data_position =
      json_value(state, "data_position", std::string(), where);
  return saved;
}

}  // namespace

Trainer::Trainer(std::unique_ptr<LanguageModel> model,
                 std::unique_ptr<data::Dataset> dataset,
                 const TrainConfig& config, std::string directory,
                 std::string data_config)
    : model_(std::move(model)),
      dataset_(std::move(dataset)),
      config_(config),
      directory_(std::move(directory)),
      data_config_(std::move(data_config)),
      schedule_(make_schedule(config)),
      best_(std::nan("")) {
  validate(config_);
  if (dataset_->block_size() > model_->block_size())
    fail_input(
        "the data has sequences of {} tokens, the model's block_size is "
        "{}",
        dataset_->block_size(), model_->block_size());
  optimizer_ = make_optimizer(*model_, config_);
  parameters_ = model_->parameters();
}

Trainer::~Trainer() = default;

void Trainer::add(TrainObserver& observer) { observers_.push_back(&observer); }

// The gradients of one update; returns the mean loss.
double Trainer::accumulate_gradients() {
  double sum = 0;
  for (std::int64_t i = 0; i < config_.grad_accumulation; ++i) {
    batch_ = dataset_->next(config_.batch_size);
    rng_ = {.seed = static_cast<std::uint64_t>(config_.seed),
            .step = static_cast<std::uint64_t>(
                done_ * config_.grad_accumulation + i)};
    Context context{.training = true, .rng = &rng_};
    Loss loss = model_->loss(batch_.ids, batch_.targets, context);
    const double value = loss.mean.item();
    if (!std::isfinite(value)) name_the_nonfinite(value, done_ + 1);
    sum += value;
    if (config_.grad_accumulation > 1)
      loss.mean = scale(loss.mean,
                        1.0 / static_cast<double>(config_.grad_accumulation));
    backward(loss.mean);
  }
  return sum / static_cast<double>(config_.grad_accumulation);
}

// All training examples, in order; nothing is left for updates to do.
void Trainer::count_examples() {
  if (tokens_seen_ > 0) return;  // a resume: they are in the checkpoint
  const Stopwatch watch;
  const std::int64_t examples = dataset_->examples(data::Split::train);
  constexpr std::int64_t kAtOnce = 256;
  for (std::int64_t first = 0; first < examples; first += kAtOnce) {
    const data::Batch batch = dataset_->evaluation(
        data::Split::train, first, std::min(kAtOnce, examples - first));
    model_->count(batch.ids, batch.targets);
    tokens_seen_ += batch.ids.numel();
  }
  elapsed_ += watch.seconds();
}

TrainStep Trainer::step() {
  const Stopwatch watch;
  TrainStep event;
  event.steps = config_.steps;
  event.lr = schedule_.at(done_);
  event.loss = accumulate_gradients();
  event.grad_norm = optim::grad_norm(optimizer_->parameters());
  if (!std::isfinite(event.grad_norm))
    name_the_nonfinite(event.loss, done_ + 1);
  optimizer_->step(event.lr,
                   optim::clip_scale(event.grad_norm, config_.grad_clip));
  optimizer_->zero_grad();
  event.step = ++done_;
  event.tokens = batch_.ids.numel() * config_.grad_accumulation;
  tokens_seen_ += event.tokens;
  event.tokens_seen = tokens_seen_;
  event.seconds = watch.seconds();
  elapsed_ += event.seconds;
  event.elapsed = elapsed_;
  return event;
}

void Trainer::name_the_nonfinite(double loss, std::int64_t step) {
  const std::string at = fmt::format("step {}", step);
  const std::string undo = fmt::format(
      "the checkpoints are as they were{}; a smaller lr, a longer "
      "warm-up or grad_clip may help",
      directory_.empty() ? "" : " in " + directory_);
  const auto report = [&](const std::string& what) {
    fail_numeric("{}: the training broke down: {}; {}", at, what, undo);
  };
  for (const auto& p : parameters_)
    if (auto fault = first_nonfinite(p.tensor); !fault.empty())
      report("weight '" + p.name + "': " + fault);
  if (std::isfinite(loss))
    for (const auto& p : parameters_)
      if (auto fault = first_nonfinite(p.tensor.grad()); !fault.empty())
        report("gradient of '" + p.name + "': " + fault);
  const std::string activation =
      first_nonfinite_activation(*model_, batch_, rng_);
  report(activation.empty() ? fmt::format("the loss is {}", loss) : activation);
  fail_internal("not reached");
}

void Trainer::check_weights_finite() const {
  for (const auto& p : parameters_)
    if (auto fault = first_nonfinite(p.tensor); !fault.empty())
      fail_numeric("step {}: weight '{}': {}; the checkpoints are as they were",
                   done_, p.name, fault);
}

double Trainer::split_loss(data::Split split) {
  return measure_loss(*model_, *dataset_, split, config_.batch_size,
                      config_.eval_batches, interrupted_)
      .mean;
}

TrainEvaluation Trainer::evaluate() {
  const Stopwatch watch;
  check_weights_finite();
  TrainEvaluation event;
  event.step = done_;
  event.train_loss = split_loss(data::Split::train);
  event.validation_loss = split_loss(data::Split::validation);
  // What was measured is a part of the split: it says nothing.
  if (interrupted_ && interrupted_()) return event;
  const bool measured = dataset_->examples(data::Split::validation) > 0;
  if (!std::isfinite(event.train_loss) ||
      (measured && !std::isfinite(event.validation_loss))) {
    const auto split = std::isfinite(event.train_loss) ? data::Split::validation
                                                       : data::Split::train;
    batch_ = dataset_->evaluation(
        split, 0, std::min(config_.batch_size, dataset_->examples(split)));
    name_the_nonfinite(std::nan(""), done_);
  }
  evaluated_ = done_;
  event.best = measured && (std::isnan(best_) || event.validation_loss < best_);
  if (event.best) {
    best_ = event.validation_loss;
    best_step_ = done_;
  }
  event.seconds = watch.seconds();
  for (TrainObserver* observer : observers_) observer->on_evaluation(event);
  if (event.best && !directory_.empty())
    save((std::filesystem::path(directory_) / "best.safetensors").string());
  return event;
}

void Trainer::save(const std::string& path) {
  check_weights_finite();
  TrainConfig config = config_;
  json info;
  info["data"] = json::parse(data_config_.empty() ? "{}" : data_config_);
  info["train"] = fields_to_json(
      [&](FieldVisitor& visitor) { visit_fields(visitor, config); });
  info["state"] = {{"step", done_},
                   {"tokens_seen", tokens_seen_},
                   {"updates", optimizer_->updates()},
                   {"elapsed_seconds", elapsed_},
                   {"best_validation_loss", number_or_null(best_)},
                   {"best_step", best_step_},
                   {"evaluated_step", evaluated_},
                   {"data_position", dataset_->state()}};
  write_checkpoint(path, *model_, dataset_->tokenizer(), optimizer_->state(),
                   info);
  for (TrainObserver* observer : observers_) observer->on_saved({done_, path});
}

void Trainer::save_last() {
  if (!directory_.empty())
    save((std::filesystem::path(directory_) / "last.safetensors").string());
  saved_ = done_;
}

void Trainer::resume(const std::string& path) {
  Checkpoint checkpoint = read_checkpoint(path, ReadOptimizer::yes);
  std::vector<std::string> differences;
  const auto compare = [&](VisitConfig here, VisitConfig there) {
    for (auto& line : field_differences(here, there))
      differences.push_back(std::move(line));
  };
  if (checkpoint.model->kind() != model_->config().kind()) {
    differences.push_back(fmt::format("model: {} here, {} there",
                                      model_->config().kind(),
                                      checkpoint.model->kind()));
  } else {
    const auto own = model_->config().clone();
    compare([&](FieldVisitor& v) { own->visit(v); },
            [&](FieldVisitor& v) { checkpoint.model->visit(v); });
  }
  TrainConfig own = config_, saved;
  fields_from_json(
      json_value(checkpoint.info, "train", json::object(), path),
      [&](FieldVisitor& v) { visit_fields(v, saved); }, path + ": train");
  // How long a run goes and how often it is measured may change on the way,
  // but not the schedule that the length decides.
  saved.eval_every = own.eval_every;
  saved.eval_batches = own.eval_batches;
  saved.save_every = own.save_every;
  const bool length_decides = own.decay_steps == 0 &&
                              own.schedule != optim::ScheduleKind::constant &&
                              own.schedule != optim::ScheduleKind::step;
  if (!length_decides) saved.steps = own.steps;
  compare([&](FieldVisitor& v) { visit_fields(v, own); },
          [&](FieldVisitor& v) { visit_fields(v, saved); });
  if (checkpoint.tokenizer->to_json() != dataset_->tokenizer().to_json())
    differences.push_back("the tokens: the data here gives others");
  if (!differences.empty()) {
    std::string text;
    for (const auto& line : differences)
      text += (text.empty() ? "" : "; ") + line;
    fail_input(
        "{}: does not continue this run (here: this run, there: the "
        "checkpoint): {}",
        path, text);
  }

  const SavedState state = read_state(checkpoint.info, path);
  try {
    model_->load(checkpoint.weights);
    std::vector<nn::NamedTensor> moments;
    for (auto& [name, tensor] : checkpoint.optimizer)
      moments.push_back({name, tensor});
    optimizer_->set_state(moments, state.updates);
    dataset_->set_state(state.data_position);
  } catch (const Error& error) {
    fail_input("{}: {}", path, error.what());
  }
  done_ = state.step;
  tokens_seen_ = state.tokens_seen;
  elapsed_ = state.elapsed_seconds;
  best_ = state.best;
  best_step_ = state.best_step;
  evaluated_ = state.evaluated_step;
}

TrainEnd Trainer::run(const TrainLimits& limits) {
  try {
    return run_to_end(limits);
  } catch (const Error& error) {
    // A log or a picture that cannot be written must not cost what was learned.
    if (error.kind() == ErrorKind::io && done_ > saved_) try {
        save_last();
      } catch (const Error&) {  // then nothing can be written there: say why
      }
    throw;
  }
}

TrainEnd Trainer::run_to_end(const TrainLimits& limits) {
  interrupted_ = limits.interrupted;
  const auto interrupted = [&] { return interrupted_ && interrupted_(); };
  for (TrainObserver* observer : observers_) observer->on_start(*this);
  const std::int64_t end = model_->learns_by_counting() ? 0
                           : limits.stop_at >= 0
                               ? std::min(limits.stop_at, config_.steps)
                               : config_.steps;
  const double begun = elapsed_;
  const auto evaluation_due = [&] {
    return evaluated_ < done_ && config_.eval_every > 0 &&
           done_ % config_.eval_every == 0;
  };
  if (model_->learns_by_counting()) count_examples();
  if (done_ == 0) {
    evaluate();
    save_last();
  } else if (evaluation_due()) {
    evaluate();  // it was due when an interrupt ended the run before
  }
  TrainEnd reason = TrainEnd::finished;
  while (done_ < end && !interrupted()) {
    const TrainStep event = step();
    for (TrainObserver* observer : observers_) observer->on_step(event);
    if (interrupted()) break;
    if (limits.max_seconds > 0 && elapsed_ - begun >= limits.max_seconds) {
      reason = TrainEnd::out_of_time;
      break;
    }
    const bool due = evaluation_due();
    if (due && done_ < end) evaluate();
    const bool save_due =
        config_.save_every > 0 ? done_ % config_.save_every == 0 : due;
    if (save_due) save_last();
  }
  if (reason == TrainEnd::finished && done_ < config_.steps &&
      !model_->learns_by_counting())
    reason = TrainEnd::stopped;
  if (evaluated_ < done_ && !interrupted()) evaluate();
  if (interrupted()) reason = TrainEnd::interrupted;
  if (saved_ != done_ || reason != TrainEnd::interrupted) save_last();
  for (TrainObserver* observer : observers_) observer->on_end(*this, reason);
  return reason;
}

}  // namespace qkv
