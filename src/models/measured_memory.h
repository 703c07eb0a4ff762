// What a step of a small model takes, by taking it.
#pragma once

#include <cstdint>

#include "qkv/model.h"

namespace qkv {

// Bytes at the peak of a training step on (batch, length) beside weights and
// gradients, measured on another model of this configuration. For models whose
// step takes milliseconds; the GPT counts instead.
double measured_activation_bytes(const ModelConfig& config, std::int64_t batch,
                                 std::int64_t length);

}  // namespace qkv
