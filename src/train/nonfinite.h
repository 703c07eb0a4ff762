// Naming the tensor that a NaN or Inf appeared in.
#pragma once

#include <string>
#include <vector>

#include "qkv/data.h"
#include "qkv/model.h"

namespace qkv {

// Runs the forward pass again and looks at every site: "activation
// 'attn.z' of layer 2: element 3 is inf", or empty when all are finite.
std::string first_nonfinite_activation(LanguageModel& model,
                                       const data::Batch& batch,
                                       const StepRng& rng);

}  // namespace qkv
