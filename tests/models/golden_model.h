// A model against what PyTorch made of it: a file with its weights
// ("weight.NAME"), ids, targets and gradients ("grad.NAME").
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "qkv/io.h"
#include "qkv/model.h"
#include "tests/support/compare.h"

namespace qkv::test {

inline io::SafetensorsFile golden_file(const std::string& name) {
  return io::SafetensorsFile(QKV_SOURCE_DIR "/tests/golden/" + name +
                             ".safetensors");
}

// Returns how many there are.
inline int load_golden_weights(LanguageModel& model,
                               const io::SafetensorsFile& file) {
  std::map<std::string, Tensor> weights;
  for (const auto& entry : file.entries())
    if (entry.name.starts_with("weight."))
      weights[entry.name.substr(7)] = file.read(entry.name);
  model.load(weights);
  return static_cast<int>(weights.size());
}

// Every parameter's gradient; of a tied one the file has the first name.
// Returns how many were compared.
inline int expect_golden_gradients(const LanguageModel& model,
                                   const io::SafetensorsFile& file,
                                   double tolerance) {
  int compared = 0;
  for (const auto& p : model.parameters()) {
    const std::string name = "grad." + p.name;
    if (!file.find(name)) continue;
    SCOPED_TRACE(p.name);
    EXPECT_TRUE(near(p.tensor.grad(), file.read(name), tolerance));
    ++compared;
  }
  return compared;
}

}  // namespace qkv::test
