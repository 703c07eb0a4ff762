#include "qkv/model.h"

namespace qkv {

DecodeState::~DecodeState() = default;

Loss LanguageModel::loss(const Tensor& ids, const Tensor& targets,
                         Context& context) {
  return cross_entropy(logits(ids, context), targets);
}

}  // namespace qkv
