#include "cli/ladder_rungs.h"

#include "core/fields_json.h"
#include "core/json.h"

namespace qkv::cli {

const std::vector<Rung>& rungs() {
  static const std::vector<Rung> rungs = {
      {"counts", "counts", "{}", "pairs of tokens, counted"},
      {"bigram", "bigram", "{}", "the same table, found by gradients"},
      {"bow", "bow", "{}", "the mean of all before: order is lost"},
      {"mlp", "mlp", R"({"context": 3, "n_embd": 24, "n_hidden": 128})",
       "three tokens, each distance its weights"},
      {"batchnorm", "mlp",
       R"({"context": 3, "n_embd": 24, "n_hidden": 128, "batch_norm": true})",
       "activations kept in range"},
      {"wavenet", "wavenet",
       R"({"n_embd": 24, "n_hidden": 96, "form": "dilated"})",
       "eight tokens, joined two by two"},
      {"rnn", "rnn", "{}", "one vector, rewritten at every token"},
      {"gru", "gru", "{}", "gates decide what is rewritten"},
      {"lstm", "lstm", "{}", "and a memory cell that they keep"},
      {"head", "heads", R"({"n_embd": 64})", "one head looks where it wants"},
      {"heads", "heads", R"({"n_embd": 64, "n_head": 4})",
       "four look for four things"},
      {"feed-forward", "heads",
       R"({"n_embd": 64, "n_head": 4, "feed_forward": 1})",
       "and something is computed of it"},
      {"residual", "heads",
       R"({"n_embd": 64, "n_head": 4, "n_layer": 4, "feed_forward": 4,
           "residual": true})",
       "four blocks, each adding to the last"},
      {"gpt", "gpt",
       R"({"n_layer": 4, "n_head": 4, "n_embd": 64, "init": "torch-default"})",
       "norms before each part"},
  };
  return rungs;
}

std::unique_ptr<ModelConfig> model_of(const Rung& rung) {
  auto config = model_config(rung.kind);
  const std::string where = "rung " + std::string(rung.name);
  fields_from_json(
      parse_json(rung.fields, where),
      [&](FieldVisitor& v) { config->visit(v); }, where);
  return config;
}

TrainConfig ladder_training() {
  TrainConfig c;
  c.steps = 3000;
  c.batch_size = 32;
  c.lr = 2e-3;
  c.schedule = optim::ScheduleKind::cosine;
  c.warmup_steps = 100;
  c.min_lr = 1e-4;
  c.eval_every = 500;
  c.seed = 1337;
  return c;
}

}  // namespace qkv::cli
