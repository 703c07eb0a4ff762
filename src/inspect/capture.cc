#include "inspect/capture.h"

#include "core/check.h"
#include "qkv/autograd.h"

namespace qkv::inspect {

Capture::Capture(std::set<std::string, std::less<>> names, int layer)
    : names_(std::move(names)), layer_(layer) {}

bool Capture::wants(Site site) const {
  return (layer_ < 0 || site.layer == layer_) && names_.contains(site.name);
}

Tensor Capture::at(Site site, Tensor value) {
  kept_[{site.layer, std::string(site.name)}] = value;
  return value;
}

const Tensor& Capture::get(int layer, const std::string& name) const {
  auto it = kept_.find({layer, name});
  if (it == kept_.end())
    fail_internal("[inspect] '{}' of layer {} was not captured", name, layer);
  return it->second;
}

void run(LanguageModel& model, std::span<const std::int64_t> ids, Tap& tap) {
  if (ids.empty()) fail_input("[inspect] the text has no tokens");
  NoGrad no_grad;
  const Tensor batch = reshape(
      Tensor::from<std::int64_t>({static_cast<std::int64_t>(ids.size())}, ids),
      {1, -1});
  Context context{.tap = &tap};
  model.logits(batch, context);
}

}  // namespace qkv::inspect
