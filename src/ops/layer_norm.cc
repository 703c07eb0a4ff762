// Layer normalisation over the last axis.
#include "kernels/norm/layer_norm.h"

#include "ops/common.h"

namespace qkv {
namespace {

const Op kLayerNorm("layer_norm");

struct Saved {
  Tensor x, weight, mean, rstd;
};

template <class T>
void layer_norm_backward(const Saved& saved, const Tensor& dy,
                         Gradients& inputs) {
  const std::int64_t rows = rows_of(saved.x), n = saved.x.dim(-1);
  Tensor dx = Tensor::empty(saved.x.shape(), dy.dtype());
  Tensor dgamma, dbeta;
  if (inputs.wants(1)) dgamma = Tensor::empty({n}, dy.dtype());
  if (inputs.wants(2)) dbeta = Tensor::empty({n}, dy.dtype());
  Tensor work = Tensor::empty({kernels::layer_norm_backward_workspace(rows, n)},
                              dy.dtype());
  const kernels::LayerNormBackward<T> problem{
      saved.x.data<T>(),
      saved.weight ? saved.weight.data<T>() : nullptr,
      saved.mean.data<T>(),
      saved.rstd.data<T>(),
      dy.data<T>(),
      rows,
      n,
      dx.data<T>(),
      work.data<T>()};
  kernels::layer_norm_backward(problem, dgamma ? dgamma.data<T>() : nullptr,
                               dbeta ? dbeta.data<T>() : nullptr);
  if (inputs.wants(0)) inputs.add(0, std::move(dx));
  if (dgamma) inputs.add(1, std::move(dgamma));
  if (dbeta) inputs.add(2, std::move(dbeta));
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check_compute_type("layer_norm", x);
  if (x.rank() == 0) fail_input("[layer_norm] a scalar has no last axis");
  const Shape width{x.dim(-1)};
  const auto check = [&](const char* what, const Tensor& t) {
    if (!t) return;
    check_same_type("layer_norm", x, t);
    if (t.shape() != width)
      fail_input("[layer_norm] {} {} does not fit input {}", what,
                 t.shape().str(), x.shape().str());
  };
  check("weight", weight);
  check("bias", bias);
  const Tensor source = packed(x);
  const Tensor gamma = weight ? packed(weight) : Tensor();
  const Tensor beta = bias ? packed(bias) : Tensor();
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  Tensor mean = Tensor::empty({rows_of(x)}, x.dtype());
  Tensor rstd = Tensor::empty({rows_of(x)}, x.dtype());
  with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::layer_norm<T>(source.data<T>(), gamma ? gamma.data<T>() : nullptr,
                           beta ? beta.data<T>() : nullptr, rows_of(x),
                           x.dim(-1), eps, y.data<T>(), mean.data<T>(),
                           rstd.data<T>());
    record(kLayerNorm, y, {x, weight, bias}, Saved{source, gamma, mean, rstd},
           layer_norm_backward<T>);
  });
  return y;
}

}  // namespace qkv
