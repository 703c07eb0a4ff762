#include "kernels/optim/sgd.h"

#include <cmath>

#include "core/check.h"
#include "qkv/optim.h"

namespace qkv::optim {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<Parameter> parameters, const SgdOptions& options)
      : Optimizer(std::move(parameters),
                  options.momentum == 0 ? std::vector<std::string>{}
                                        : std::vector<std::string>{"momentum"}),
        options_(options) {}

 private:
  void update_part(const Part& p) override {
    const kernels::SgdStep step{
        .lr = p.lr,
        .momentum = options_.momentum,
        .weight_decay = p.parameter.decays ? options_.weight_decay : 0,
        .nesterov = options_.nesterov,
        .first = p.update == 1,
        .grad_scale = p.grad_scale};
    Tensor weight = p.parameter.tensor;
    const Tensor grad = weight.grad();
    auto run = [&]<class T>(T) {
      kernels::sgd(
          step, grad.data<T>() + p.begin, p.end - p.begin,
          weight.data<T>() + p.begin,
          p.moments.empty() ? nullptr : p.moments[0].data<T>() + p.begin);
    };
    weight.dtype() == DType::f32 ? run(float{}) : run(double{});
  }

  const SgdOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> sgd(std::vector<Parameter> parameters,
                               const SgdOptions& o) {
  for (double x : {o.momentum, o.weight_decay})
    if (!(x >= 0) || !std::isfinite(x))
      fail_input(
          "[sgd] momentum {} and weight_decay {} must be finite and not "
          "negative",
          o.momentum, o.weight_decay);
  if (o.nesterov && o.momentum == 0)
    fail_input("[sgd] nesterov needs a momentum above 0");
  return std::make_unique<Sgd>(std::move(parameters), o);
}

}  // namespace qkv::optim
