// A run that takes a moment: the task "sort", a model of two small blocks.
#pragma once

#include <memory>
#include <string>

#include "qkv/train.h"

namespace qkv::test {

inline GptConfig small_model() {
  return {.block_size = 11,
          .n_layer = 2,
          .n_head = 2,
          .n_embd = 16,
          .embd_dropout = 0.1,
          .attn_dropout = 0.2,
          .resid_dropout = 0.1};
}

inline TrainConfig small_run() {
  TrainConfig c;
  c.steps = 20;
  c.batch_size = 4;
  c.schedule = optim::ScheduleKind::cosine;
  c.warmup_steps = 5;
  c.min_lr = 1e-4;
  c.grad_clip = 1;
  c.eval_every = 5;
  c.eval_batches = 2;
  c.seed = 11;
  return c;
}

inline std::unique_ptr<Trainer> make_trainer(const std::string& folder,
                                             const TrainConfig& config,
                                             GptConfig model = small_model()) {
  nn::manual_seed(static_cast<std::uint64_t>(config.seed));
  auto dataset = data::open({.task = "sort"}, {}, nn::default_rng());
  model.vocab_size = dataset->tokenizer().vocab_size();
  model.block_size = dataset->block_size();
  auto gpt = make_gpt(model);
  dataset->start(nn::default_rng());
  return std::make_unique<Trainer>(std::move(gpt), std::move(dataset), config,
                                   folder, "{}");
}

}  // namespace qkv::test
