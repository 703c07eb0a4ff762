// Batch normalisation with the batch's own statistics.
#include "kernels/norm/batch_norm.h"

#include <cmath>

#include "ops/common.h"

namespace qkv {
namespace {

const Op kBatchNorm("batch_norm");

struct Saved {
  Tensor x, weight, mean, rstd;
  double divisor = 1;  // of the variance
};

template <class T>
void batch_norm_backward(const Saved& saved, const Tensor& dy,
                         Gradients& inputs) {
  const std::int64_t rows = rows_of(saved.x), n = saved.x.dim(-1);
  Tensor dx;
  if (inputs.wants(0)) dx = Tensor::empty(saved.x.shape(), dy.dtype());
  Tensor dgamma = Tensor::empty({n}, dy.dtype());
  Tensor dbeta = Tensor::empty({n}, dy.dtype());
  kernels::batch_norm_backward<T>(
      saved.x.data<T>(), saved.mean.data<T>(), saved.rstd.data<T>(),
      saved.weight.data<T>(), dy.data<T>(), rows, n,
      static_cast<T>(saved.divisor), dx ? dx.data<T>() : nullptr,
      dgamma.data<T>(), dbeta.data<T>());
  if (dx) inputs.add(0, std::move(dx));
  if (inputs.wants(1)) inputs.add(1, std::move(dgamma));
  if (inputs.wants(2)) inputs.add(2, std::move(dbeta));
}

template <class T>
BatchNormResult run(const Tensor& x, const Tensor& weight, const Tensor& bias,
                    double eps, Variance kind) {
  const std::int64_t rows = rows_of(x), n = x.dim(-1);
  const Tensor source = packed(x), gamma = packed(weight), beta = packed(bias);
  const auto make = [&] { return Tensor::empty({n}, x.dtype()); };
  BatchNormResult result{Tensor::empty(x.shape(), x.dtype()), make(), make(),
                         make()};
  Tensor rstd = make();
  kernels::column_moments<T>(source.data<T>(), rows, n, result.mean.data<T>(),
                             result.variance.data<T>());
  const double divisor =
      static_cast<double>(kind == Variance::biased ? rows : rows - 1);
  for (std::int64_t c = 0; c < n; ++c) {
    const double squares = result.variance.data<T>()[c];
    rstd.data<T>()[c] = static_cast<T>(1 / std::sqrt(squares / divisor + eps));
    const double variance = squares / static_cast<double>(rows - 1);
    result.variance.data<T>()[c] = static_cast<T>(variance);
    result.deviation.data<T>()[c] = static_cast<T>(std::sqrt(variance));
  }
  kernels::batch_norm<T>(source.data<T>(), result.mean.data<T>(),
                         rstd.data<T>(), gamma.data<T>(), beta.data<T>(), rows,
                         n, result.output.data<T>());
  record(kBatchNorm, result.output, {x, weight, bias},
         Saved{source, gamma, result.mean, rstd, divisor},
         batch_norm_backward<T>);
  return result;
}

void check_columns(const Tensor& x, const char* what, const Tensor& t) {
  check_same_type("batch_norm", x, t);
  if (x.rank() < 2)
    fail_input("[batch_norm] input {} has no rows", x.shape().str());
  if (t.shape() != Shape{x.dim(-1)})
    fail_input("[batch_norm] {} {} does not fit input {}", what,
               t.shape().str(), x.shape().str());
}

}  // namespace

BatchNormResult batch_norm(const Tensor& x, const Tensor& weight,
                           const Tensor& bias, double eps, Variance variance) {
  check_columns(x, "weight", weight);
  check_columns(x, "bias", bias);
  if (rows_of(x) < 2)
    fail_input(
        "[batch_norm] {} has {} row: a variance needs at least 2; use a larger "
        "batch",
        x.shape().str(), rows_of(x));
  return with_compute_type(x.dtype(), [&](auto zero) {
    return run<decltype(zero)>(x, weight, bias, eps, variance);
  });
}

// As x·factor + (bias - mean·factor): two passes of operations that there are.
Tensor batch_norm_with(const Tensor& x, const Tensor& weight,
                       const Tensor& bias, const Tensor& mean,
                       const Tensor& variance, double eps) {
  check_columns(x, "weight", weight);
  check_columns(x, "bias", bias);
  check_columns(x, "mean", mean);
  check_columns(x, "variance", variance);
  Tensor rstd = packed(variance).clone();
  with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t c = 0; c < rstd.numel(); ++c)
      rstd.data<T>()[c] =
          static_cast<T>(1 / std::sqrt(rstd.data<T>()[c] + eps));
  });
  const Tensor factor = mul(weight, rstd);
  return add(mul(x, factor), add(bias, scale(mul(mean, factor), -1)));
}

}  // namespace qkv
