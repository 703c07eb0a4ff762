#include "models/lecture_weights.h"

#include "qkv/autograd.h"
#include "qkv/ops.h"

namespace qkv {

void draw_weight(nn::Linear& layer, double factor) {
  Tensor drawn = Tensor::empty({layer.weight.dim(1), layer.weight.dim(0)});
  nn::default_rng().randn(drawn);
  NoGrad no_grad;
  layer.weight.copy_from(transpose(scale(drawn, factor), 0, 1));
}

}  // namespace qkv
