// Functions of one number, element by element.
#include "kernels/activation/activation.h"
#include "ops/common.h"

namespace qkv {
namespace {

using Kind = kernels::Activation;

const Op kRelu("relu"), kGeluErf("gelu_erf"), kGeluTanh("gelu_tanh"),
    kTanh("tanh"), kSigmoid("sigmoid"), kExp("exp"), kLog("log");

struct Saved {
  Kind kind = Kind::relu;
  Tensor value;  // the input, or the output where the derivative reads that
};

template <class T>
void unary_backward(const Saved& saved, const Tensor& dy, Gradients& inputs) {
  Tensor dx = Tensor::empty(dy.shape(), dy.dtype());
  kernels::activation_backward<T>(saved.kind, saved.value.data<T>(),
                                  dy.data<T>(), dy.numel(), dx.data<T>());
  inputs.add(0, std::move(dx));
}

Tensor unary(const Op& op, Kind kind, const Tensor& x) {
  check_compute_type(op.name(), x);
  const Tensor source = packed(x);
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::activation<T>(kind, source.data<T>(), x.numel(), y.data<T>());
    const bool output = kernels::saves_output(kind);
    record(op, y, {x}, Saved{kind, output ? y.detach() : source},
           unary_backward<T>);
  });
  return y;
}

}  // namespace

Tensor relu(const Tensor& x) { return unary(kRelu, Kind::relu, x); }
Tensor gelu_erf(const Tensor& x) { return unary(kGeluErf, Kind::gelu_erf, x); }
Tensor gelu_tanh(const Tensor& x) {
  return unary(kGeluTanh, Kind::gelu_tanh, x);
}
Tensor tanh(const Tensor& x) { return unary(kTanh, Kind::tanh, x); }
Tensor sigmoid(const Tensor& x) { return unary(kSigmoid, Kind::sigmoid, x); }
Tensor exp(const Tensor& x) { return unary(kExp, Kind::exp, x); }
Tensor log(const Tensor& x) { return unary(kLog, Kind::log, x); }

}  // namespace qkv
