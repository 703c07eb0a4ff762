// sum, mean and max over an axis.
#include "kernels/elementwise/reduce.h"

#include "ops/common.h"

namespace qkv {
namespace {

const Op kSum("sum"), kMean("mean"), kMax("max");

// An axis in the middle of all others: (outer, n, inner).
struct Axis {
  std::int64_t outer = 1, n = 1, inner = 1;
  Axis(const Shape& shape, int axis) : n(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
};

struct SavedSum {
  Shape shape;
  int axis = 0;
  double factor = 1;
};

Tensor reduced_sum(const Op& op, const Tensor& x, int axis, bool keep_axis,
                   double factor) {
  const int at = x.shape().axis(axis);
  const Axis a(x.shape(), at);
  const Tensor source = packed(x);
  const Shape shape = keep_axis ? x.shape().with(at, 1) : x.shape().without(at);
  Tensor y = Tensor::empty(shape, x.dtype());
  with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor work = Tensor::empty(
        {kernels::sum_axis_workspace(a.outer, a.n, a.inner)}, x.dtype());
    kernels::sum_axis<T>(source.data<T>(), a.outer, a.n, a.inner, y.data<T>(),
                         work.data<T>());
    if (factor != 1) {
      T* values = y.data<T>();
      for (std::int64_t i = 0; i < y.numel(); ++i)
        values[i] *= static_cast<T>(factor);
    }
  });
  record(op, y, {x}, SavedSum{x.shape(), at, factor},
         [](const SavedSum& saved, const Tensor& dy, Gradients& inputs) {
           const Axis a(saved.shape, saved.axis);
           Tensor dx = Tensor::empty(saved.shape, dy.dtype());
           with_compute_type(dy.dtype(), [&](auto zero) {
             using T = decltype(zero);
             kernels::expand_axis<T>(dy.data<T>(), a.outer, a.n, a.inner,
                                     static_cast<T>(saved.factor),
                                     dx.data<T>());
           });
           inputs.add(0, std::move(dx));
         });
  return y;
}

}  // namespace

Tensor sum(const Tensor& x, int axis, bool keep_axis) {
  check_compute_type("sum", x);
  return reduced_sum(kSum, x, axis, keep_axis, 1);
}

Tensor mean(const Tensor& x, int axis, bool keep_axis) {
  check_compute_type("mean", x);
  const std::int64_t n = x.dim(axis);
  if (n == 0)
    fail_input("[mean] axis {} of {} is empty", axis, x.shape().str());
  return reduced_sum(kMean, x, axis, keep_axis, 1.0 / static_cast<double>(n));
}

Tensor sum(const Tensor& x) {
  check_compute_type("sum", x);
  return sum(reshape(x, {x.numel()}), 0);
}

Tensor mean(const Tensor& x) {
  check_compute_type("mean", x);
  return mean(reshape(x, {x.numel()}), 0);
}

Tensor max(const Tensor& x, int axis, bool keep_axis) {
  check_compute_type("max", x);
  const int at = x.shape().axis(axis);
  const Axis a(x.shape(), at);
  if (a.n == 0)
    fail_input("[max] axis {} of {} is empty", axis, x.shape().str());
  const Tensor source = packed(x);
  const Shape shape = keep_axis ? x.shape().with(at, 1) : x.shape().without(at);
  Tensor y = Tensor::empty(shape, x.dtype());
  Tensor indices = Tensor::empty({a.outer * a.inner}, DType::i64);
  with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::max_axis<T>(source.data<T>(), a.outer, a.n, a.inner, y.data<T>(),
                         indices.data<std::int64_t>());
  });
  struct Saved {
    Shape shape;
    int axis = 0;
    Tensor indices;
  };
  record(kMax, y, {x}, Saved{x.shape(), at, indices},
         [](const Saved& saved, const Tensor& dy, Gradients& inputs) {
           const Axis a(saved.shape, saved.axis);
           Tensor dx = Tensor::empty(saved.shape, dy.dtype());
           with_compute_type(dy.dtype(), [&](auto zero) {
             using T = decltype(zero);
             kernels::max_axis_backward<T>(dy.data<T>(),
                                           saved.indices.data<std::int64_t>(),
                                           a.outer, a.n, a.inner, dx.data<T>());
           });
           inputs.add(0, std::move(dx));
         });
  return y;
}

}  // namespace qkv
