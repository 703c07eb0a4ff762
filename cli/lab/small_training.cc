#include "cli/lab/small_training.h"

#include <algorithm>

#include "core/fields_json.h"
#include "core/json.h"
#include "qkv/autograd.h"
#include "qkv/optim.h"
#include "qkv/runtime.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kNewQuestions = 512;  // to measure what was learned
constexpr std::int64_t kCurvePoints = 60;

}  // namespace

std::unique_ptr<LanguageModel> make(const SmallModel& model,
                                    std::int64_t vocab_size,
                                    std::int64_t block_size,
                                    std::uint64_t seed) {
  const auto config = model_config(model.kind);
  fields_from_json(
      parse_json(model.fields, model.name),
      [&](FieldVisitor& v) { config->visit(v); }, model.name);
  config->set_vocab_size(vocab_size);
  config->set_block_size(block_size);
  nn::manual_seed(seed);
  return config->make();
}

data::Batch empty_questions(std::int64_t count, std::int64_t length,
                            std::int64_t answers) {
  return {Tensor::empty({count, length}, DType::i64),
          Tensor::empty({count, answers}, DType::i64)};
}

OneThread::OneThread() : before_(runtime::threads()) {
  runtime::set_threads(1);
}
OneThread::~OneThread() { runtime::set_threads(before_); }

Tensor of_the_last(const Tensor& logits, std::int64_t count) {
  return slice(logits, 1, logits.dim(1) - count, logits.dim(1));
}

Learner learner(LanguageModel& model) {
  return {model.parameters(),
          [&model](const data::Batch& batch) {
            Context context{.training = true};
            return model.loss(batch.ids, batch.targets, context).mean;
          },
          [&model](const data::Batch& batch) {
            Context context;
            return of_the_last(model.logits(batch.ids, context),
                               batch.targets.dim(1));
          }};
}

Learner learner(const nn::Module& network,
                const std::function<Tensor(const data::Batch&)>& logits) {
  return {network.parameters(),
          [logits](const data::Batch& batch) {
            return cross_entropy(logits(batch), batch.targets).mean;
          },
          logits};
}

Score score_of(const Learner& learner, const data::Batch& batch) {
  const NoGrad no_grad;
  const Tensor logits = learner.logits(batch);
  const Loss loss = cross_entropy(logits, batch.targets);
  const auto values = logits.to_vector<float>();
  const auto targets = batch.targets.to_vector<std::int64_t>();
  const auto width = static_cast<std::size_t>(logits.dim(-1));
  std::int64_t right = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(i * width);
    const auto best =
        std::max_element(row, row + static_cast<std::ptrdiff_t>(width));
    right += best - row == targets[i] ? 1 : 0;
  }
  return {loss.mean.item(),
          static_cast<double>(right) / static_cast<double>(loss.tokens)};
}

Fit fit(const Lab& lab, const Learner& learner, const Questions& questions,
        const Training& training, std::uint64_t seed) {
  const OneThread one_thread;
  const std::int64_t steps = lab.steps(training.steps);
  const auto optimizer = optim::adamw(
      optim::parameters_of(learner.parameters, optim::DecayRule::matrices),
      {.weight_decay = 0});
  const optim::Schedule schedule{.kind = optim::ScheduleKind::cosine,
                                 .lr = training.lr,
                                 .min_lr = training.lr / 20,
                                 .warmup_steps = steps / 10,
                                 .decay_steps = steps};
  TorchRng rng(seed);
  Fit fit;
  const std::int64_t every = std::max<std::int64_t>(steps / kCurvePoints, 1);
  double sum = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    lab.check();
    const Tensor loss = learner.loss(questions(rng, training.batch));
    backward(loss);
    const double norm = optim::grad_norm(optimizer->parameters());
    optimizer->step(schedule.at(step), optim::clip_scale(norm, 1));
    optimizer->zero_grad();
    sum += loss.item();
    if ((step + 1) % every != 0) continue;
    fit.curve.push_back(
        {static_cast<double>(step + 1), sum / static_cast<double>(every)});
    sum = 0;
  }
  fit.score = score_of(learner, questions(rng, kNewQuestions));
  return fit;
}

}  // namespace qkv::cli::lab
