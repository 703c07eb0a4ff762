// Operations that only move memory, on more of it than any cache of one's own
// holds: what they reach of the machine's bandwidth.
#include <algorithm>

#include "cli/bench/bench_case.h"
#include "qkv/autograd.h"
#include "qkv/ops.h"
#include "qkv/optim.h"
#include "qkv/rng.h"

namespace qkv::cli::bench {
namespace {

constexpr std::int64_t kRows = 1 << 16, kWidth = 1024;
constexpr double kBytes = 4.0 * kRows * kWidth;

template <class F>
BenchCase row_case(std::string name, std::string about, F f) {
  return {std::move(name), std::move(about), [f] {
            const Tensor x = Tensor::full({kRows, kWidth}, 0.5);
            return Work{.run =
                            [x, f] {
                              const NoGrad no_grad;
                              f(x);
                            },
                        .bytes = 2 * kBytes};  // read and written once
          }};
}

BenchCase adamw_case() {
  return {"adamw", "AdamW over 64 M parameters, gradients ready", [] {
            Tensor weight = Tensor::full({kRows, kWidth}, 0.5);
            weight.set_requires_grad(true);
            weight.set_grad(Tensor::full({kRows, kWidth}, 1e-3));
            auto optimizer = std::shared_ptr<optim::Optimizer>(
                optim::adamw({{"weight", weight}}, {}));
            return Work{.run = [optimizer] { optimizer->step(1e-4); },
                        // Weight, two moments: read and written; gradient read.
                        .bytes = 7 * kBytes};
          }};
}

const RegisterBench kRowCases(
    {row_case("layer-norm", "rows of 1024, forward",
              [](const Tensor& x) {
                static const Tensor gain = Tensor::full({kWidth}, 1);
                static const Tensor bias = Tensor::zeros({kWidth});
                layer_norm(x, gain, bias);
              }),
     row_case("softmax", "rows of 1024, forward",
              [](const Tensor& x) { softmax(x); }),
     row_case("gelu", "tanh's, forward", [](const Tensor& x) { gelu_tanh(x); }),
     adamw_case()});

}  // namespace
}  // namespace qkv::cli::bench
