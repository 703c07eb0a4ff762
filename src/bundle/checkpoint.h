// A checkpoint: one safetensors file. Tensors "model.NAME" are the weights,
// "optimizer.NAME" the moments; the metadata entry "qkv" is the rest as JSON.
// Every tensor and the header carry a checksum. docs/checkpoint.md describes
// it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/json.h"
#include "qkv/model.h"
#include "qkv/tokenizer.h"

namespace qkv {

inline constexpr int kCheckpointVersion = 1;

struct Checkpoint {
  std::unique_ptr<ModelConfig> model;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::map<std::string, Tensor> weights;    // a tied one under its first name
  std::map<std::string, Tensor> optimizer;  // may be left unread
  // "data": what it was trained on; "train": the configuration; "state": step,
  // tokens_seen, updates, best_validation_loss, best_step, data position.
  nlohmann::json info;
};

enum class ReadOptimizer { no, yes };

// Throws naming file and field when it is no checkpoint of this program, of a
// later version, or damaged.
Checkpoint read_checkpoint(const std::string& path, ReadOptimizer optimizer);
// Atomic: a crash leaves the old file or the new one.
void write_checkpoint(const std::string& path, const LanguageModel& model,
                      const Tokenizer& tokenizer,
                      const std::vector<nn::NamedTensor>& optimizer,
                      const nlohmann::json& info);

// The checkpoint that a path means: itself, or a run folder's best or last.
enum class Prefer { best, last };
std::string checkpoint_path(const std::string& path, Prefer prefer);

}  // namespace qkv
