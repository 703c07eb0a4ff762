// softmax and log-softmax over the last axis.
#include "kernels/softmax/softmax.h"

#include "ops/common.h"

namespace qkv {
namespace {

const Op kSoftmax("softmax"), kLogSoftmax("log_softmax");

struct Saved {
  Tensor y;
};

template <class T>
using Forward = void (*)(const T* x, std::int64_t rows, std::int64_t n, T* y);
template <class T>
using Backward = void (*)(const T* y, const T* dy, std::int64_t rows,
                          std::int64_t n, T* dx);

template <class T>
Tensor along_rows(const Op& op, const Tensor& x, Forward<T> forward,
                  Backward<T> backward) {
  const Tensor source = packed(x);
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  forward(source.data<T>(), rows_of(x), x.dim(-1), y.data<T>());
  record(op, y, {x}, Saved{y.detach()},
         [backward](const Saved& saved, const Tensor& dy, Gradients& inputs) {
           Tensor dx = Tensor::empty(dy.shape(), dy.dtype());
           backward(saved.y.data<T>(), dy.data<T>(), rows_of(dy), dy.dim(-1),
                    dx.data<T>());
           inputs.add(0, std::move(dx));
         });
  return y;
}

void check(std::string_view op, const Tensor& x) {
  check_compute_type(op, x);
  if (x.rank() == 0) fail_input("[{}] a scalar has no last axis", op);
}

}  // namespace

Tensor softmax(const Tensor& x) {
  check("softmax", x);
  return with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return along_rows<T>(kSoftmax, x, kernels::softmax<T>,
                         kernels::softmax_backward<T>);
  });
}

Tensor log_softmax(const Tensor& x) {
  check("log_softmax", x);
  return with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return along_rows<T>(kLogSoftmax, x, kernels::log_softmax<T>,
                         kernels::log_softmax_backward<T>);
  });
}

}  // namespace qkv
