#include "kernels/optim/adamw.h"

#include <cmath>

#include "core/check.h"
#include "qkv/optim.h"

namespace qkv::optim {
namespace {

class AdamW final : public Optimizer {
 public:
  AdamW(std::vector<Parameter> parameters, const AdamWOptions& options)
      : Optimizer(std::move(parameters), {"m", "v"}), options_(options) {}

 private:
  void update_part(const Part& p) override {
    const kernels::AdamWStep step{
        .lr = p.lr,
        .beta1 = options_.beta1,
        .beta2 = options_.beta2,
        .eps = options_.eps,
        .weight_decay = p.parameter.decays ? options_.weight_decay : 0,
        .step = p.update,
        .grad_scale = p.grad_scale};
    Tensor weight = p.parameter.tensor;
    const Tensor grad = weight.grad();
    auto run = [&]<class T>(T) {
      kernels::adamw(step, grad.data<T>() + p.begin, p.end - p.begin,
                     weight.data<T>() + p.begin,
                     p.moments[0].data<T>() + p.begin,
                     p.moments[1].data<T>() + p.begin);
    };
    weight.dtype() == DType::f32 ? run(float{}) : run(double{});
  }

  const AdamWOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> adamw(std::vector<Parameter> parameters,
                                 const AdamWOptions& o) {
  for (double beta : {o.beta1, o.beta2})
    if (!(beta >= 0 && beta < 1))
      fail_input("[adamw] a beta must be at least 0 and below 1, not {}", beta);
  for (double x : {o.eps, o.weight_decay})
    if (!(x >= 0) || !std::isfinite(x))
      fail_input(
          "[adamw] eps {} and weight_decay {} must be finite and not negative",
          o.eps, o.weight_decay);
  return std::make_unique<AdamW>(std::move(parameters), o);
}

}  // namespace qkv::optim
