// add and mul with broadcasting.
#include "kernels/elementwise/binary.h"

#include "core/tensor_impl.h"
#include "kernels/elementwise/reduce.h"
#include "kernels/elementwise/scale.h"
#include "ops/common.h"
#include "ops/reduce_to.h"

namespace qkv {
namespace {

const Op kAdd("add"), kMul("mul"), kScale("scale");

// NumPy's rule: axes are matched from the last; a size of 1 repeats.
Shape broadcast(std::string_view op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<std::int64_t, kMaxRank> sizes{};
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.rank() ? a.dim(-i) : 1;
    const std::int64_t y = i <= b.rank() ? b.dim(-i) : 1;
    if (x != y && x != 1 && y != 1)
      fail_input("[{}] shapes {} and {} do not broadcast", op, a.str(),
                 b.str());
    sizes[rank - i] = x == 1 ? y : x;
  }
  return Shape(std::span<const std::int64_t>(sizes.data(), rank));
}

// The strides that walk x as if it had the shape.
std::array<std::int64_t, kMaxRank> strides_as(const Tensor& x,
                                              const Shape& shape) {
  std::array<std::int64_t, kMaxRank> strides{};
  for (int i = 1; i <= x.rank(); ++i)
    strides[shape.rank() - i] = x.dim(-i) == 1 ? 0 : x.stride(-i);
  return strides;
}

Tensor compute(kernels::Binary op, std::string_view name, const Tensor& a,
               const Tensor& b) {
  const Shape shape = broadcast(name, a.shape(), b.shape());
  kernels::Layout layout;
  layout.rank = shape.rank();
  for (int i = 0; i < shape.rank(); ++i) layout.size[i] = shape[i];
  layout.a = strides_as(a, shape);
  layout.b = strides_as(b, shape);
  Tensor out = Tensor::empty(shape, a.dtype());
  with_compute_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::binary<T>(op, layout, a.data<T>(), b.data<T>(), out.data<T>());
  });
  return out;
}

struct Shapes {
  Shape a, b;
};
struct Factors {
  Tensor a, b;
};
struct Factor {
  double value = 1;
};

}  // namespace

Tensor reduce_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  NoGrad no_grad;
  Tensor y = x;
  while (y.rank() > shape.rank()) y = sum(y, 0);
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] == 1 && y.dim(i) != 1) y = sum(y, i, true);
  return y;
}

Tensor add(const Tensor& a, const Tensor& b) {
  check_same_type("add", a, b);
  Tensor out = compute(kernels::Binary::add, "add", a, b);
  record(kAdd, out, {a, b}, Shapes{a.shape(), b.shape()},
         [](const Shapes& saved, const Tensor& gradient, Gradients& inputs) {
           if (inputs.wants(0)) inputs.add(0, reduce_to(gradient, saved.a));
           if (inputs.wants(1)) inputs.add(1, reduce_to(gradient, saved.b));
         });
  return out;
}

Tensor mul(const Tensor& a, const Tensor& b) {
  check_same_type("mul", a, b);
  Tensor out = compute(kernels::Binary::multiply, "mul", a, b);
  record(kMul, out, {a, b}, Factors{a.detach(), b.detach()},
         [](const Factors& saved, const Tensor& gradient, Gradients& inputs) {
           if (inputs.wants(0))
             inputs.add(0, reduce_to(mul(gradient, saved.b), saved.a.shape()));
           if (inputs.wants(1))
             inputs.add(1, reduce_to(mul(gradient, saved.a), saved.b.shape()));
         });
  return out;
}

Tensor scale(const Tensor& x, double factor) {
  check_compute_type("scale", x);
  const Tensor source = packed(x);
  Tensor out = Tensor::empty(x.shape(), x.dtype());
  with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::scale<T>(source.data<T>(), static_cast<T>(factor), x.numel(),
                      out.data<T>());
  });
  record(kScale, out, {x}, Factor{factor},
         [](const Factor& saved, const Tensor& gradient, Gradients& inputs) {
           inputs.add(0, scale(gradient, saved.value));
         });
  return out;
}

}  // namespace qkv
