// reshape, transpose, slice, concat, contiguous: other looks at the same
// numbers.
#include <array>

#include "core/tensor_impl.h"
#include "ops/common.h"

namespace qkv {
namespace {

const Op kReshape("reshape"), kTranspose("transpose"), kSlice("slice"),
    kConcat("concat"), kContiguous("contiguous");

struct Nothing {};
struct WithShape {
  Shape shape;
};

}  // namespace

Tensor contiguous(const Tensor& x) {
  if (x.contiguous()) return x;
  Tensor out = x.clone();
  record(kContiguous, out, {x}, Nothing{},
         [](const Nothing&, const Tensor& gradient, Gradients& inputs) {
           inputs.add(0, gradient);
         });
  return out;
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  if (shape.numel() != x.numel())
    fail_input("[reshape] {} has {} elements, {} has {}", x.shape().str(),
               x.numel(), shape.str(), shape.numel());
  const Tensor source = x.contiguous() ? x : x.clone();
  Tensor out = view_of(source, shape, row_major(shape));
  record(kReshape, out, {x}, WithShape{x.shape()},
         [](const WithShape& saved, const Tensor& gradient, Gradients& inputs) {
           inputs.add(0,
                      view_of(gradient, saved.shape, row_major(saved.shape)));
         });
  return out;
}

Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> sizes) {
  std::int64_t known = 1;
  int open = -1, rank = 0;
  std::array<std::int64_t, kMaxRank> given{};
  if (sizes.size() > kMaxRank)
    fail_input("[reshape] a tensor has at most {} axes, not {}", kMaxRank,
               sizes.size());
  for (std::int64_t size : sizes) {
    if (size != -1) {
      known = checked_multiply(known, size);
    } else {
      if (open >= 0) fail_input("[reshape] only one size may be -1");
      open = rank;
    }
    given[rank++] = size;
  }
  if (open >= 0) {
    if (known == 0 || x.numel() % known != 0)
      fail_input("[reshape] {} has {} elements, no multiple of {}",
                 x.shape().str(), x.numel(), known);
    given[open] = x.numel() / known;
  }
  return reshape(x, Shape(std::span<const std::int64_t>(given.data(), rank)));
}

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  const int a = x.shape().axis(axis_a), b = x.shape().axis(axis_b);
  Strides strides = x.impl()->strides;
  std::swap(strides[a], strides[b]);
  const Shape shape = x.shape().with(a, x.dim(b)).with(b, x.dim(a));
  Tensor out = view_of(x, shape, strides);
  struct Axes {
    int a = 0, b = 0;
  };
  record(kTranspose, out, {x}, Axes{a, b},
         [](const Axes& axes, const Tensor& gradient, Gradients& inputs) {
           NoGrad no_grad;
           inputs.add(0, transpose(gradient, axes.a, axes.b).clone());
         });
  return out;
}

Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end) {
  const int at = x.shape().axis(axis);
  const std::int64_t size = x.shape()[at];
  const std::int64_t from = begin < 0 ? begin + size : begin;
  const std::int64_t to = end < 0 ? end + size : end;
  if (from < 0 || to > size || from > to)
    fail_input("[slice] {}..{} does not lie in axis {} of {}", begin, end, at,
               x.shape().str());
  if (to - from == size) return x;
  Tensor out = view_of(x, x.shape().with(at, to - from), x.impl()->strides,
                       from * x.impl()->strides[at]);
  struct Range {
    Shape shape;
    int axis = 0;
    std::int64_t from = 0;
  };
  record(kSlice, out, {x}, Range{x.shape(), at, from},
         [](const Range& range, const Tensor& gradient, Gradients& inputs) {
           inputs.add_part(0, range.shape, range.axis, range.from, gradient);
         });
  return out;
}

Tensor concat(const std::vector<Tensor>& parts, int axis) {
  if (parts.empty()) fail_input("[concat] needs at least one tensor");
  const Tensor& first = parts.front();
  const int at = first.shape().axis(axis);
  std::int64_t total = 0;
  for (const Tensor& part : parts) {
    if (part.rank() != first.rank() || part.dtype() != first.dtype() ||
        part.shape().with(at, 0) != first.shape().with(at, 0))
      fail_input("[concat] {} {} does not fit {} {} along axis {}",
                 name_of(part.dtype()), part.shape().str(),
                 name_of(first.dtype()), first.shape().str(), at);
    total += part.shape()[at];
  }
  Tensor out = Tensor::empty(first.shape().with(at, total), first.dtype());
  {
    NoGrad no_grad;
    std::int64_t position = 0;
    for (const Tensor& part : parts) {
      const std::int64_t size = part.shape()[at];
      slice(out, at, position, position + size).copy_from(part);
      position += size;
    }
  }
  struct Sizes {
    int axis = 0;
    std::vector<std::int64_t, PoolAllocator<std::int64_t>> sizes;
  };
  if (needs_record(parts)) {
    Sizes saved{at, {}};
    for (const Tensor& part : parts) saved.sizes.push_back(part.shape()[at]);
    record(kConcat, out, std::span<const Tensor>(parts), std::move(saved),
           [](const Sizes& saved, const Tensor& gradient, Gradients& inputs) {
             NoGrad no_grad;
             std::int64_t position = 0;
             for (std::size_t i = 0; i < saved.sizes.size(); ++i) {
               const std::int64_t end = position + saved.sizes[i];
               if (inputs.wants(static_cast<int>(i)))
                 inputs.add(static_cast<int>(i),
                            slice(gradient, saved.axis, position, end).clone());
               position = end;
             }
           });
  }
  return out;
}

}  // namespace qkv
