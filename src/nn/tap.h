// The one branch that a site costs.
#pragma once

#include "qkv/tap.h"

namespace qkv::nn {

inline Tensor tapped(const Context& context, int layer, std::string_view name,
                     Tensor value) {
  if (context.tap && context.tap->wants({layer, name}))
    return context.tap->at({layer, name}, std::move(value));
  return value;
}

}  // namespace qkv::nn
