#include "qkv/nn/layers.h"

#include <cmath>

#include "core/check.h"
#include "nn/fused_in.h"
#include "nn/linear_in.h"
#include "qkv/autograd.h"
#include "qkv/ops.h"

namespace qkv::nn {
namespace {

Tensor uniform(const Shape& shape, double bound) {
  Tensor tensor = Tensor::empty(shape);
  if (!SkipInit::active()) default_rng().uniform(tensor, -bound, bound);
  return tensor;
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(in));
  weight = add_parameter("weight", uniform({out, in}, bound));
  if (with_bias) bias = add_parameter("bias", uniform({out}, bound));
}

Tensor Linear::forward(const Tensor& x) const {
  return linear(x, weight, bias);
}

Tensor Linear::forward(const Tensor& x, const Context& context) const {
  return linear_in(context, x.dim(-2), x, weight, bias);
}

Embedding::Embedding(std::int64_t rows, std::int64_t width) {
  Tensor table = Tensor::empty({rows, width});
  if (!SkipInit::active()) default_rng().randn(table);
  weight = add_parameter("weight", table, /*table=*/true);
}

Tensor Embedding::forward(const Tensor& ids) const {
  return embedding(weight, ids);
}

LayerNorm::LayerNorm(std::int64_t width, bool with_bias, double epsilon)
    : eps(epsilon) {
  weight = add_parameter("weight", Tensor::full({width}, 1.0));
  if (with_bias) bias = add_parameter("bias", Tensor::zeros({width}));
}

Tensor LayerNorm::forward(const Tensor& x) const {
  return layer_norm(x, weight, bias, eps);
}

BatchNorm1d::BatchNorm1d(std::int64_t width, const BatchNormOptions& o)
    : options(o) {
  weight = add_parameter("weight", Tensor::full({width}, 1.0));
  bias = add_parameter("bias", Tensor::zeros({width}));
  running_mean = add_buffer("running_mean", Tensor::zeros({width}));
  running_var = add_buffer("running_var", Tensor::full({width}, 1.0));
  batches_ = add_buffer("num_batches_tracked", Tensor::zeros({}, DType::i64));
}

Tensor BatchNorm1d::forward(const Tensor& x, const Context& context) {
  if (context.training) {
    BatchNormResult result = batch_norm(
        x, weight, bias, options.eps,
        options.by_deviation ? Variance::unbiased : Variance::biased);
    NoGrad no_grad;
    const auto follow = [&](Tensor& running, const Tensor& now) {
      running.copy_from(add(scale(running, 1 - options.momentum),
                            scale(now, options.momentum)));
    };
    follow(running_mean, result.mean);
    follow(running_var,
           options.by_deviation ? result.deviation : result.variance);
    ++*batches_.data<std::int64_t>();
    return result.output;
  }
  const Tensor variance =
      options.by_deviation ? mul(running_var, running_var) : running_var;
  return batch_norm_with(x, weight, bias, running_mean, variance, options.eps);
}

Dropout::Dropout(double probability) : p(probability) {
  if (!(p >= 0 && p < 1))
    fail_input("dropout must be at least 0 and below 1, not {}", p);
}

Tensor Dropout::forward(const Tensor& x, const Context& context) const {
  const DropoutDraw draw = draw_of(*this, context);
  return draw.p == 0 ? x : dropout(x, draw.p, draw.rng, draw.stream);
}

}  // namespace qkv::nn
