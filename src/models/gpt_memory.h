// What a GPT's training step needs, from shapes alone.
#pragma once

#include "qkv/model.h"

namespace qkv {

// Bytes at the peak of a step on (batch, length), beside weights, all gradients
// and the optimizer's moments.
double gpt_activation_bytes(const GptConfig& config, std::int64_t batch,
                            std::int64_t length);

}  // namespace qkv
