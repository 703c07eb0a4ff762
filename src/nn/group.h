// A module that only holds others under a name: "transformer.", "mlp.".
#pragma once

#include "qkv/nn/module.h"

namespace qkv::nn {

struct Group : Module {
  void add(const std::string& name, Module& part) { add_module(name, part); }
};

}  // namespace qkv::nn
