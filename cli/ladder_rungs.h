// The rungs of the ladder: the road from counting pairs to a GPT.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "qkv/model.h"
#include "qkv/train_config.h"

namespace qkv::cli {

struct Rung {
  std::string_view name;    // of its folder, too
  std::string_view kind;    // of the model
  std::string_view fields;  // of its configuration, as JSON
  std::string_view idea;    // what is new
};

const std::vector<Rung>& rungs();

std::unique_ptr<ModelConfig> model_of(const Rung& rung);

// How every rung is trained, whatever its model.
TrainConfig ladder_training();

}  // namespace qkv::cli
