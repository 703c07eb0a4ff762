#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"
#include "core/fields_json.h"
#include "qkv/model.h"

namespace qkv {

namespace {

std::vector<ModelKind>& kinds() {
  static auto* kinds = new std::vector<ModelKind>;
  return *kinds;
}

}  // namespace

DecodeState::~DecodeState() = default;
ModelConfig::~ModelConfig() = default;

RegisterModel::RegisterModel(const ModelKind& kind) { kinds().push_back(kind); }

std::vector<ModelKind> model_kinds() {
  auto sorted = kinds();
  std::sort(
      sorted.begin(), sorted.end(),
      [](const ModelKind& a, const ModelKind& b) { return a.name < b.name; });
  return sorted;
}

std::unique_ptr<ModelConfig> model_config(std::string_view kind) {
  std::vector<std::string> names;
  for (const ModelKind& known : model_kinds()) {
    if (known.name == kind) return known.config();
    names.emplace_back(known.name);
  }
  fail_input("there is no model '{}'; there are {}{}", kind,
             fmt::join(names, ", "), did_you_mean(kind, names));
}

void LanguageModel::count(const Tensor&, const Tensor&) {
  fail_input("a {} model learns by gradients, not by counting",
             config().kind());
}

Loss LanguageModel::loss(const Tensor& ids, const Tensor& targets,
                         Context& context) {
  const std::int64_t length = ids.dim(1);
  return cross_entropy(
      slice(logits(ids, context), 1, length - targets.dim(1), length), targets);
}

}  // namespace qkv
