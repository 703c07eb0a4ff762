#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "bundle/checkpoint.h"
#include "core/check.h"
#include "qkv/bundle.h"
#include "qkv/io.h"
#include "qkv/runtime.h"
#include "qkv/train.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/train/small_run.h"

namespace qkv {
namespace {

using test::make_trainer;
using test::same_bits;
using test::small_model;
using test::small_run;
using test::TempFolder;

// Everything a run's future depends on, out of its last checkpoint.
void expect_same_run(const std::string& a, const std::string& b) {
  const Checkpoint x = read_checkpoint(a, ReadOptimizer::yes);
  const Checkpoint y = read_checkpoint(b, ReadOptimizer::yes);
  ASSERT_EQ(x.weights.size(), y.weights.size());
  for (const auto& [name, tensor] : x.weights)
    EXPECT_TRUE(same_bits(tensor, y.weights.at(name))) << name;
  ASSERT_EQ(x.optimizer.size(), y.optimizer.size());
  EXPECT_GT(x.optimizer.size(), x.weights.size());
  for (const auto& [name, tensor] : x.optimizer)
    EXPECT_TRUE(same_bits(tensor, y.optimizer.at(name))) << name;
  for (const char* field : {"step", "tokens_seen", "updates", "data_position"})
    EXPECT_EQ(x.info["state"][field], y.info["state"][field]) << field;
}

TEST(Trainer, TwentyStepsAreTenAndTen) {
  TempFolder straight, halves;
  make_trainer(straight.path(), small_run())->run();
  make_trainer(halves.path(), small_run())->run({.stop_at = 10});
  auto second = make_trainer(halves.path(), small_run());
  second->resume(halves / "last.safetensors");
  EXPECT_EQ(second->steps_done(), 10);
  EXPECT_EQ(second->run(), TrainEnd::finished);
  expect_same_run(straight / "last.safetensors", halves / "last.safetensors");
}

TEST(Trainer, AStopBetweenTwoEvaluationsChangesNothing) {
  TempFolder straight, parts;
  TrainConfig config = small_run();
  config.grad_accumulation = 2;
  make_trainer(straight.path(), config)->run();
  make_trainer(parts.path(), config)->run({.stop_at = 3});
  for (std::int64_t stop : {13, 20}) {
    auto next = make_trainer(parts.path(), config);
    next->resume(parts / "last.safetensors");
    next->run({.stop_at = stop});
  }
  expect_same_run(straight / "last.safetensors", parts / "last.safetensors");
}

// The steps at which a run was measured.
struct Evaluations final : TrainObserver {
  std::vector<std::int64_t> steps;
  void on_evaluation(const TrainEvaluation& e) override {
    steps.push_back(e.step);
  }
};

TEST(Trainer, AnEvaluationThatAnInterruptSkippedIsMadeUpFor) {
  TempFolder folder;
  Evaluations evaluations;
  auto first = make_trainer(folder.path(), small_run());
  first->add(evaluations);
  EXPECT_EQ(
      first->run({.interrupted = [&] { return first->steps_done() == 10; }}),
      TrainEnd::interrupted);
  EXPECT_EQ(evaluations.steps, (std::vector<std::int64_t>{0, 5}));
  auto second = make_trainer(folder.path(), small_run());
  second->resume(folder / "last.safetensors");
  second->add(evaluations);
  second->run();
  EXPECT_EQ(evaluations.steps, (std::vector<std::int64_t>{0, 5, 10, 15, 20}));
  auto third = make_trainer(folder.path(), small_run());
  third->resume(folder / "last.safetensors");
  third->add(evaluations);
  third->run();
  EXPECT_EQ(evaluations.steps.size(), 5u) << "a finished run is not measured";
}

TEST(Trainer, ThreadsChangeNoBit) {
  TempFolder one, two;
  const int before = runtime::threads();
  runtime::set_threads(1);
  make_trainer(one.path(), small_run())->run();
  runtime::set_threads(2);
  make_trainer(two.path(), small_run())->run();
  runtime::set_threads(before);
  expect_same_run(one / "last.safetensors", two / "last.safetensors");
}

TEST(Trainer, ASeedIsARun) {
  TempFolder a, b;
  TrainConfig other = small_run();
  other.seed = 12;
  make_trainer(a.path(), small_run())->run({.stop_at = 2});
  make_trainer(b.path(), other)->run({.stop_at = 2});
  const Checkpoint x =
      read_checkpoint(a / "last.safetensors", ReadOptimizer::no);
  const Checkpoint y =
      read_checkpoint(b / "last.safetensors", ReadOptimizer::no);
  EXPECT_FALSE(same_bits(x.weights.at("transformer.wte.weight"),
                         y.weights.at("transformer.wte.weight")));
}

TEST(Trainer, TheLossFalls) {
  TrainConfig config = small_run();
  config.steps = 150;
  config.lr = 1e-2;
  config.eval_every = 0;
  auto trainer = make_trainer("", config);
  const double before = trainer->step().loss;
  double after = 0;
  while (trainer->steps_done() < 150) after = trainer->step().loss;
  EXPECT_LT(after, before / 2);
}

TEST(Trainer, BeginsNearGuessing) {
  auto trainer = make_trainer("", small_run());
  EXPECT_NEAR(trainer->step().loss,
              std::log(static_cast<double>(trainer->model().vocab_size())),
              0.15);
}

TEST(Trainer, AccumulatedBatchesAreOneLargeBatch) {
  GptConfig model = small_model();
  model.embd_dropout = model.attn_dropout = model.resid_dropout = 0;
  TrainConfig large = small_run(), parts = small_run();
  large.batch_size = 8;
  parts.grad_accumulation = 2;
  auto a = make_trainer("", large, model), b = make_trainer("", parts, model);
  const TrainStep x = a->step(), y = b->step();
  EXPECT_NEAR(x.loss, y.loss, 1e-5);
  EXPECT_NEAR(x.grad_norm, y.grad_norm, 1e-4);
  EXPECT_EQ(x.tokens, y.tokens);
}

std::string run_error(Trainer& trainer) {
  try {
    trainer.run();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numeric);
    return error.what();
  }
  return "";
}

// Puts a bad number somewhere when a step has been done.
struct Injector final : TrainObserver {
  std::int64_t at;
  std::string where;
  double value;
  const Trainer* trainer = nullptr;
  Injector(std::int64_t step, std::string name, double bad)
      : at(step), where(std::move(name)), value(bad) {}
  void on_start(const Trainer& t) override { trainer = &t; }
  void on_step(const TrainStep& event) override {
    if (event.step != at) return;
    for (const auto& p : trainer->model().parameters())
      if (p.name == where) {
        Tensor tensor = p.tensor;
        tensor.data<float>()[3] = static_cast<float>(value);
      }
  }
};

TEST(Trainer, ABadNumberStopsTheRunAndSparesTheCheckpoints) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    TempFolder folder;
    const char* name = "transformer.h.1.mlp.c_fc.weight";
    auto trainer = make_trainer(folder.path(), small_run());
    Injector injector(7, name, bad);
    trainer->add(injector);
    const std::string message = run_error(*trainer);
    EXPECT_NE(message.find("step 8"), std::string::npos) << message;
    EXPECT_NE(message.find(name), std::string::npos) << message;
    for (const char* file : {"last.safetensors", "best.safetensors"}) {
      const Checkpoint saved =
          read_checkpoint(folder / file, ReadOptimizer::yes);
      EXPECT_LE(saved.info["state"]["step"].get<int>(), 5);
      for (const auto& [parameter, tensor] : saved.weights)
        for (float v : tensor.to_vector<float>())
          ASSERT_TRUE(std::isfinite(v)) << parameter;
    }
  }
}

TEST(Trainer, ANumberTooLargeInAnActivationIsNamed) {
  TempFolder folder;
  auto trainer = make_trainer(folder.path(), small_run());
  // A finite weight whose products are not.
  Injector injector(5, "transformer.ln_f.weight", 3e38);
  trainer->add(injector);
  const std::string message = run_error(*trainer);
  EXPECT_NE(message.find("step 5"), std::string::npos) << message;
  EXPECT_NE(message.find("activation 'ln_f'"), std::string::npos) << message;
}

TEST(Trainer, AResumeUnderAnotherConfigurationIsRefusedFieldByField) {
  TempFolder folder;
  make_trainer(folder.path(), small_run())->run({.stop_at = 2});
  TrainConfig other = small_run();
  other.lr = 0.5;
  other.batch_size = 3;
  GptConfig model = small_model();
  model.n_layer = 1;
  auto trainer = make_trainer(folder.path(), other, model);
  try {
    trainer->resume(folder / "last.safetensors");
    FAIL() << "it was taken";
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const char* part :
         {"lr: 0.5 here, 0.001 there", "batch_size: 3 here, 4 there",
          "n_layer: 1 here, 2 there"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

// An observer whose file cannot be written.
struct FullDisk final : TrainObserver {
  void on_step(const TrainStep& e) override {
    if (e.step == 7) fail_io("log.jsonl: no space left on device");
  }
};

TEST(Trainer, ALogThatCannotBeWrittenDoesNotCostWhatWasLearned) {
  TempFolder folder;
  FullDisk disk;
  auto trainer = make_trainer(folder.path(), small_run());
  trainer->add(disk);
  EXPECT_ERROR(io, "log.jsonl", trainer->run());
  auto next = make_trainer(folder.path(), small_run());
  next->resume(folder / "last.safetensors");
  EXPECT_EQ(next->steps_done(), 7);
}

TEST(Trainer, ABundleIsReadBackFromTheRun) {
  TempFolder folder;
  auto trainer = make_trainer(folder.path(), small_run());
  trainer->run({.stop_at = 5});
  const Bundle bundle = load_bundle(folder.path());
  EXPECT_EQ(bundle.step, trainer->best_step());
  EXPECT_EQ(bundle.validation_loss, trainer->best_validation_loss());
  EXPECT_EQ(bundle.model->parameter_count(),
            trainer->model().parameter_count());
}

TEST(Trainer, RefusesAConfigurationThatCannotWork) {
  TrainConfig config = small_run();
  config.warmup_steps = 21;
  EXPECT_THROW(make_trainer("", config), Error);
  config = small_run();
  config.min_lr = 1;
  EXPECT_THROW(make_trainer("", config), Error);
  config = small_run();
  config.batch_size = 0;
  EXPECT_THROW(make_trainer("", config), Error);
}

TEST(Trainer, ZeroStepsEvaluateAndSave) {
  TempFolder folder;
  TrainConfig config = small_run();
  config.steps = 0;
  config.warmup_steps = 0;
  EXPECT_EQ(make_trainer(folder.path(), config)->run(), TrainEnd::finished);
  EXPECT_EQ(load_bundle(folder.path()).step, 0);
}

TEST(Evaluation, SpreadBatchesCoverTheSplitEvenly) {
  auto trainer = make_trainer("", small_run());
  const auto& dataset = trainer->dataset();
  const SplitLoss all =
      measure_loss(trainer->model(), dataset, data::Split::validation, 7, 0);
  const SplitLoss again =
      measure_loss(trainer->model(), dataset, data::Split::validation, 3, 0);
  EXPECT_EQ(all.tokens, again.tokens);
  EXPECT_NEAR(all.mean, again.mean, 1e-5);
}

}  // namespace
}  // namespace qkv
