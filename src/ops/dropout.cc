// Dropout: drawn from a counter, so the backward draws the same mask again.
#include "kernels/elementwise/dropout.h"

#include "ops/common.h"

namespace qkv {
namespace {

const Op kDropout("dropout");

struct Saved {
  double p = 0;
  StepRng rng;
  std::uint64_t stream = 0;
};

Tensor apply(const Tensor& x, const Saved& s) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::dropout<T>(x.data<T>(), x.numel(), s.p, s.rng, s.stream, 0,
                        y.data<T>());
  });
  return y;
}

}  // namespace

Tensor dropout(const Tensor& x, double p, const StepRng& rng,
               std::uint64_t stream) {
  check_compute_type("dropout", x);
  if (!(p >= 0 && p < 1))
    fail_input("[dropout] p must be at least 0 and below 1, not {}", p);
  const Saved saved{p, rng, stream};
  Tensor y = apply(packed(x), saved);
  record(kDropout, y, {x}, saved,
         [](const Saved& s, const Tensor& gradient, Gradients& inputs) {
           inputs.add(0, apply(gradient, s));
         });
  return y;
}

}  // namespace qkv
