// y = x Wᵀ + b.
#include "ops/linear.h"

#include "kernels/elementwise/reduce.h"
#include "kernels/gemm/rows_times_weight.h"
#include "ops/common.h"
#include "ops/linear_products.h"

namespace qkv {
namespace {

const Op kLinear("linear");

struct Saved {
  Tensor x, weight;
};

template <class T>
void linear_backward(const Saved& saved, const Tensor& dy, Gradients& inputs) {
  const std::int64_t rows = rows_of(saved.x);
  const std::int64_t in = saved.weight.dim(1), out = saved.weight.dim(0);
  const LinearProducts<T> products{saved.weight.data<T>(), in, out};
  if (inputs.wants(0)) {
    Tensor dx = Tensor::empty(saved.x.shape(), dy.dtype());
    products.to_input(dy.data<T>(), rows, dx.data<T>());
    inputs.add(0, std::move(dx));
  }
  if (inputs.wants(1)) {
    Tensor dw = Tensor::empty(saved.weight.shape(), dy.dtype());
    products.to_weight(dy.data<T>(), saved.x.data<T>(), rows, dw.data<T>());
    inputs.add(1, std::move(dw));
  }
  if (inputs.wants(2)) {  // db = Σ rows of dy
    Tensor db = Tensor::empty({out}, dy.dtype());
    Tensor work =
        Tensor::empty({kernels::sum_axis_workspace(1, rows, out)}, dy.dtype());
    kernels::sum_axis<T>(dy.data<T>(), 1, rows, out, db.data<T>(),
                         work.data<T>());
    inputs.add(2, std::move(db));
  }
}

}  // namespace

void check_linear(std::string_view op, const Tensor& x, const Tensor& weight,
                  const Tensor& bias) {
  check_same_type(op, x, weight);
  if (weight.rank() != 2 || x.rank() < 1 || x.dim(-1) != weight.dim(1))
    fail_input("[{}] input {} does not fit weight {}", op, x.shape().str(),
               weight.shape().str());
  if (!bias) return;
  check_same_type(op, weight, bias);
  if (bias.shape() != Shape{weight.dim(0)})
    fail_input("[{}] bias {} does not fit weight {}", op, bias.shape().str(),
               weight.shape().str());
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_linear("linear", x, weight, bias);
  const Tensor px = packed(x), pw = packed(weight);
  const std::int64_t rows = rows_of(x), in = weight.dim(1), out = weight.dim(0);
  Tensor y = Tensor::empty(x.shape().with(-1, out), x.dtype());
  with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Tensor pb = bias ? packed(bias) : Tensor();
    LinearProducts<T>{pw.data<T>(), in, out}.forward(
        px.data<T>(), rows, bias ? pb.data<T>() : nullptr, y.data<T>());
    record(kLinear, y, {x, weight, bias}, Saved{px, pw}, linear_backward<T>);
  });
  return y;
}

Tensor linear_by_rows(const Tensor& x, const Tensor& weight,
                      const Tensor& bias) {
  check_linear("linear_by_rows", x, weight, bias);
  if (needs_record({&x, &weight, &bias}))
    fail_internal("[linear_by_rows] records no history; use NoGrad");
  const Tensor px = packed(x), pw = packed(weight);
  Tensor y = Tensor::empty(x.shape().with(-1, weight.dim(0)), x.dtype());
  with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Tensor pb = bias ? packed(bias) : Tensor();
    kernels::rows_times_weight<T>(px.data<T>(), rows_of(x), weight.dim(1),
                                  pw.data<T>(), weight.dim(0),
                                  bias ? pb.data<T>() : nullptr, y.data<T>());
  });
  return y;
}

}  // namespace qkv
