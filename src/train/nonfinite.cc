#include "train/nonfinite.h"

#include <fmt/core.h>

#include "ops/finite.h"
#include "qkv/autograd.h"

namespace qkv {
namespace {

struct FiniteTap final : Tap {
  std::string found;
  bool wants(Site site) const override {
    return found.empty() && site.name != "attn.weights";
  }
  Tensor at(Site site, Tensor value) override {
    const std::string fault = first_nonfinite(value);
    if (!fault.empty() && found.empty())
      found = site.layer < 0
                  ? fmt::format("activation '{}': {}", site.name, fault)
                  : fmt::format("activation '{}' of layer {}: {}", site.name,
                                site.layer, fault);
    return value;
  }
};

}  // namespace

std::string first_nonfinite_activation(LanguageModel& model,
                                       const data::Batch& batch,
                                       const StepRng& rng) {
  NoGrad no_grad;
  FiniteTap tap;
  Context context{.training = true, .rng = &rng, .tap = &tap};
  model.loss(batch.ids, batch.targets, context);
  return tap.found;
}

}  // namespace qkv
