// Published settings, each with its source.
#include <fmt/format.h>

#include "core/check.h"
#include "core/fields_json.h"
#include "core/json.h"
#include "qkv/train.h"

namespace qkv {
namespace {

// nanoGPT's way of training GPT-2, shared by its four sizes.
constexpr std::string_view kGpt2Train = R"({
  "steps": 600000, "batch_size": 12, "grad_accumulation": 40,
  "lr": 6e-4, "schedule": "cosine", "warmup_steps": 2000, "min_lr": 6e-5,
  "beta1": 0.9, "beta2": 0.95, "weight_decay": 0.1, "decay": "matrices",
  "grad_clip": 1.0, "eval_every": 1000, "eval_batches": 200})";

// makemore.py's, whatever the model.
constexpr std::string_view kMakemoreTrain = R"({
  "steps": 5000, "batch_size": 32, "lr": 5e-4, "schedule": "constant",
  "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.01, "decay": "all",
  "grad_clip": 0, "eval_every": 500, "eval_batches": 11, "seed": 3407})";

// The lectures' on names: plain gradient descent, the rate cut once.
constexpr std::string_view kLectureData =
    R"({"split": "lecture", "window": 3})";
constexpr std::string_view kLectureTrain = R"({
  "steps": 200000, "batch_size": 32, "optimizer": "sgd", "momentum": 0,
  "weight_decay": 0, "lr": 0.1, "schedule": "step", "step_every": 100000,
  "step_factor": 0.1, "grad_clip": 0, "eval_every": 10000, "eval_batches": 20,
  "seed": 2147483647})";

// The GPT lecture's steps, on running text.
constexpr std::string_view kVideoTrain = R"({
  "steps": 5000, "batch_size": 32, "lr": 1e-3, "schedule": "constant",
  "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.01, "decay": "all",
  "grad_clip": 0, "eval_every": 500, "eval_batches": 200, "seed": 1337})";

// minGPT's trainer with the rate of its character project.
constexpr std::string_view kMingptTrain = R"({
  "steps": 5000, "batch_size": 64, "lr": 5e-4, "schedule": "constant",
  "beta1": 0.9, "beta2": 0.95, "weight_decay": 0.1, "decay": "linear",
  "grad_clip": 1.0, "seed": 3407})";

const std::vector<Preset> kPresets = {
    {"makemore", "makemore.py's transformer, for lists of words", "gpt", R"({
       "block_size": 16, "n_layer": 4, "n_head": 4, "n_embd": 64,
       "activation": "gelu-tanh", "biases": "all", "tied_head": false,
       "init": "torch-default"})",
     kMakemoreTrain},
    {"makemore-counts", "the bigram lecture's counts", "counts", R"({})",
     kMakemoreTrain},
    {"makemore-bigram", "makemore.py's bigram", "bigram", R"({})",
     kMakemoreTrain},
    {"makemore-mlp", "makemore.py's MLP", "mlp",
     R"({"n_embd": 64, "n_hidden": 64})", kMakemoreTrain},
    {"makemore-bow", "makemore.py's bag of words", "bow",
     R"({"n_embd": 64, "n_hidden": 64})", kMakemoreTrain},
    {"makemore-rnn", "makemore.py's RNN", "rnn",
     R"({"n_embd": 64, "n_hidden": 64})", kMakemoreTrain},
    {"makemore-gru", "makemore.py's GRU", "gru",
     R"({"n_embd": 64, "n_hidden": 64})", kMakemoreTrain},
    {"lecture-mlp", "the BatchNorm lecture's MLP without it", "mlp",
     R"({"block_size": 3, "n_embd": 10, "n_hidden": 200, "style": "lecture"})",
     kLectureTrain, kLectureData},
    {"lecture-batchnorm", "the BatchNorm lecture's MLP with it", "mlp",
     R"({"block_size": 3, "n_embd": 10, "n_hidden": 200, "style": "lecture",
         "batch_norm": true})",
     kLectureTrain, kLectureData},
    {"lecture-wavenet", "the WaveNet lecture's scaled-up model", "wavenet",
     R"({"block_size": 8, "n_level": 3, "n_embd": 24, "n_hidden": 128,
         "batch_norm": true})",
     R"({"steps": 200000, "batch_size": 32, "optimizer": "sgd", "momentum": 0,
         "weight_decay": 0, "lr": 0.1, "schedule": "step",
         "step_every": 150000, "step_factor": 0.1, "grad_clip": 0,
         "eval_every": 10000, "eval_batches": 20, "seed": 42})",
     R"({"split": "lecture", "window": 8})"},
    {"video-head", "the GPT lecture's first step: one head", "heads",
     R"({"block_size": 8, "n_embd": 32})", kVideoTrain},
    {"video-heads", "its second: four heads", "heads",
     R"({"block_size": 8, "n_embd": 32, "n_head": 4})", kVideoTrain},
    {"video-feed-forward", "its third: a feed-forward part", "heads",
     R"({"block_size": 8, "n_embd": 32, "n_head": 4, "feed_forward": 1})",
     kVideoTrain},
    {"video-residual", "its fourth: three blocks with residuals", "heads",
     R"({"block_size": 8, "n_embd": 32, "n_head": 4, "n_layer": 3,
         "feed_forward": 4, "residual": true})",
     kVideoTrain},
    {"video-norm", "its fifth: layer norms", "heads",
     R"({"block_size": 8, "n_embd": 32, "n_head": 4, "n_layer": 3,
         "feed_forward": 4, "residual": true, "norm": true})",
     kVideoTrain},
    {"ng-video", "the GPT lecture's last model (10.8 M parameters)", "gpt", R"({
       "block_size": 256, "n_layer": 6, "n_head": 6, "n_embd": 384,
       "activation": "relu", "biases": "all-but-qkv", "tied_head": false,
       "head_bias": true, "init": "normal", "embd_dropout": 0,
       "attn_dropout": 0.2, "resid_dropout": 0.2})",
     R"({
       "steps": 5000, "batch_size": 64, "lr": 3e-4, "schedule": "constant",
       "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.01, "decay": "all",
       "grad_clip": 0, "eval_every": 500, "eval_batches": 200, "seed": 1337})"},
    {"nanogpt-cpu", "nanoGPT's setting for a CPU (0.8 M parameters)", "gpt",
     R"({
       "block_size": 64, "n_layer": 4, "n_head": 4, "n_embd": 128,
       "activation": "gelu-erf", "biases": "none", "tied_head": true,
       "init": "gpt2"})",
     R"({
       "steps": 2000, "batch_size": 12, "lr": 1e-3, "schedule": "cosine",
       "warmup_steps": 100, "min_lr": 1e-4, "beta1": 0.9, "beta2": 0.99,
       "weight_decay": 0.1, "decay": "matrices", "grad_clip": 1.0,
       "eval_every": 250, "eval_batches": 20, "seed": 1337})"},
    {"shakespeare-char", "nanoGPT's baby GPT (10.7 M parameters)", "gpt", R"({
       "block_size": 256, "n_layer": 6, "n_head": 6, "n_embd": 384,
       "activation": "gelu-erf", "biases": "none", "tied_head": true,
       "init": "gpt2", "embd_dropout": 0.2, "attn_dropout": 0.2,
       "resid_dropout": 0.2})",
     R"({
       "steps": 5000, "batch_size": 64, "lr": 1e-3, "schedule": "cosine",
       "warmup_steps": 100, "min_lr": 1e-4, "beta1": 0.9, "beta2": 0.99,
       "weight_decay": 0.1, "decay": "matrices", "grad_clip": 1.0,
       "eval_every": 250, "eval_batches": 200, "seed": 1337})"},
    {"mingpt-nano", "minGPT's gpt-nano (3 layers, width 48)", "gpt", R"({
       "block_size": 128, "n_layer": 3, "n_head": 3, "n_embd": 48,
       "init": "gpt2", "embd_dropout": 0.1, "attn_dropout": 0.1,
       "resid_dropout": 0.1})",
     kMingptTrain},
    {"mingpt-micro", "minGPT's gpt-micro (4 layers, width 128)", "gpt", R"({
       "block_size": 128, "n_layer": 4, "n_head": 4, "n_embd": 128,
       "init": "gpt2", "embd_dropout": 0.1, "attn_dropout": 0.1,
       "resid_dropout": 0.1})",
     kMingptTrain},
    {"mingpt-mini", "minGPT's gpt-mini (6 layers, width 192)", "gpt", R"({
       "block_size": 128, "n_layer": 6, "n_head": 6, "n_embd": 192,
       "init": "gpt2", "embd_dropout": 0.1, "attn_dropout": 0.1,
       "resid_dropout": 0.1})",
     kMingptTrain},
    {"gpt2", "GPT-2, 124 M parameters", "gpt", R"({
       "vocab_size": 50257, "block_size": 1024, "n_layer": 12, "n_head": 12,
       "n_embd": 768, "tied_head": true, "init": "gpt2"})",
     kGpt2Train},
    {"gpt2-medium", "GPT-2, 355 M parameters", "gpt", R"({
       "vocab_size": 50257, "block_size": 1024, "n_layer": 24, "n_head": 16,
       "n_embd": 1024, "tied_head": true, "init": "gpt2"})",
     kGpt2Train},
    {"gpt2-large", "GPT-2, 774 M parameters", "gpt", R"({
       "vocab_size": 50257, "block_size": 1024, "n_layer": 36, "n_head": 20,
       "n_embd": 1280, "tied_head": true, "init": "gpt2"})",
     kGpt2Train},
    {"gpt2-xl", "GPT-2, 1558 M parameters", "gpt", R"({
       "vocab_size": 50257, "block_size": 1024, "n_layer": 48, "n_head": 25,
       "n_embd": 1600, "tied_head": true, "init": "gpt2"})",
     kGpt2Train},
};

}  // namespace

const std::vector<Preset>& presets() { return kPresets; }

const Preset& preset(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& p : kPresets) {
    if (p.name == name) return p;
    names.emplace_back(p.name);
  }
  fail_input("there is no preset '{}'; there are {}{}", name,
             fmt::join(names, ", "), did_you_mean(name, names));
}

std::unique_ptr<ModelConfig> apply_preset(const Preset& preset,
                                          TrainConfig& train) {
  auto model = model_config(preset.model_kind);
  const std::string where = "preset " + std::string(preset.name);
  fields_from_json(
      parse_json(preset.model, where),
      [&](FieldVisitor& visitor) { model->visit(visitor); }, where);
  fields_from_json(
      parse_json(preset.train, where),
      [&](FieldVisitor& visitor) { visit_fields(visitor, train); }, where);
  return model;
}

}  // namespace qkv
