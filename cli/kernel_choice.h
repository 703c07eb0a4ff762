// Which implementation each kind of work takes, and why: for people to read.
#pragma once

#include <string>
#include <vector>

#include "qkv/model.h"

namespace qkv::cli {

struct KernelChoice {
  std::string work, kernel, reason;  // "attention", "flash", "f32, any mask"
};

// Of this program, whatever the model; works are names of JSON.
std::vector<KernelChoice> kernels_here();

// Of this model's training. What it computes is seen in one forward pass over
// a token or two, which leaves no trace in it.
std::vector<KernelChoice> kernels_of(LanguageModel& model);

// "attention: flash (f32, any mask), …"
std::string in_a_line(const std::vector<KernelChoice>& choices);

}  // namespace qkv::cli
