// Initial weights as the lectures draw them, by hand.
#pragma once

#include <memory>

#include "qkv/nn/layers.h"

namespace qkv {

// Normal numbers, drawn as a matrix (in,out), times the factor.
void draw_weight(nn::Linear& layer, double factor);

// A model that draws all its weights itself: the generator gives those draws
// and no others. None where the weights are loaded next.
template <class Model, class Config>
std::unique_ptr<Model> drawn_as_the_lecture(const Config& config) {
  const bool loaded_next = nn::SkipInit::active();
  const nn::SkipInit skip;
  auto model = std::make_unique<Model>(config);
  if (!loaded_next) model->draw_as_the_lecture();
  return model;
}

}  // namespace qkv
