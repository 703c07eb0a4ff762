// The linear layers of a block with what stands around them, as a model calls
// them: in one operation, unless a tap wants to see what lies between or cached
// generation goes on. Forward's results are the same to the bit, but for a
// token that comes alone and goes row by row.
#pragma once

#include <initializer_list>
#include <string_view>

#include "core/check.h"
#include "nn/tap.h"
#include "ops/fused_linear.h"
#include "qkv/nn/layers.h"
#include "qkv/ops.h"

namespace qkv::nn {

// Whether each operation has to run by itself.
inline bool apart(const Context& context, int layer,
                  std::initializer_list<std::string_view> sites) {
  if (context.state) return true;
  if (context.tap)
    for (std::string_view site : sites)
      if (context.tap->wants({layer, site})) return true;
  return false;
}

inline LinearWeights weights_of(const Linear& linear) {
  return {linear.weight, linear.bias};
}

inline NormWeights weights_of(const LayerNorm& norm) {
  return {norm.weight, norm.bias, norm.eps};
}

// What dropout draws in this context; p is 0 where it does nothing.
inline DropoutDraw draw_of(const Dropout& dropout, const Context& context) {
  if (!context.training || dropout.p == 0) return {};
  if (!context.rng)
    fail_input("[dropout] training needs Context::rng at '{}'", dropout.path());
  return {dropout.p, *context.rng, dropout.stream()};
}

// linear(norm(x)), `between` the site after the norm.
inline Tensor norm_linear_in(const Context& context, int layer,
                             std::string_view between, const LayerNorm& norm,
                             const Linear& linear, const Tensor& x) {
  if (apart(context, layer, {between}))
    return linear.forward(tapped(context, layer, between, norm.forward(x)),
                          context);
  return norm_linear(x, weights_of(norm), weights_of(linear));
}

// residual + dropout(linear(x)), `before_sum` the site of what is added.
inline Tensor linear_residual_in(const Context& context, int layer,
                                 std::string_view before_sum,
                                 const Linear& linear, const Dropout& dropout,
                                 const Tensor& x, const Tensor& residual) {
  if (apart(context, layer, {before_sum}))
    return add(residual,
               tapped(context, layer, before_sum,
                      dropout.forward(linear.forward(x, context), context)));
  return linear_residual(x, weights_of(linear), draw_of(dropout, context),
                         residual);
}

// A function of one number, as an operation and as a kernel.
struct ActivationPair {
  Tensor (*operation)(const Tensor&);
  kernels::Activation kernel;
};

// residual + dropout(linear(f(x))), `after` the site after f.
inline Tensor activation_linear_residual_in(
    const Context& context, int layer, std::string_view after,
    std::string_view before_sum, const ActivationPair& f, const Linear& linear,
    const Dropout& dropout, const Tensor& x, const Tensor& residual) {
  if (apart(context, layer, {after, before_sum}))
    return linear_residual_in(context, layer, before_sum, linear, dropout,
                              tapped(context, layer, after, f.operation(x)),
                              residual);
  return activation_linear_residual(f.kernel, x, weights_of(linear),
                                    draw_of(dropout, context), residual);
}

}  // namespace qkv::nn
