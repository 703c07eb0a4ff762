#include "ops/fused_linear.h"
#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

struct Sizes {
  Shape x;
  std::int64_t out;
};

// The inputs of every case: x, the norm's weight and bias, the linear's, the
// residual.
std::vector<Tensor> inputs(const Sizes& s, DType dtype, TorchRng& rng) {
  const std::int64_t in = s.x.dim(-1);
  return {normal(s.x, dtype, rng),     normal({in}, dtype, rng),
          normal({in}, dtype, rng),    normal({s.out, in}, dtype, rng),
          normal({s.out}, dtype, rng), normal(s.x.with(-1, s.out), dtype, rng)};
}

OpCase fused(const char* op, const char* label, const Sizes& s,
             const std::vector<int>& used,
             const std::function<Tensor(const std::vector<Tensor>&)>& f) {
  return {.op = op,
          .label = label,
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                std::vector<Tensor> all = inputs(s, dtype, rng), some;
                for (int i : used) some.push_back(all[i]);
                return some;
              },
          .run = f,
          .tolerance = 1e-4,  // a gradient sums products of rounded rows
          .flops = 2.0 * static_cast<double>(s.x.numel() * s.out),
          .sparse_gradients = s.x.numel() == 0};
}

OpCase norm_case(const char* label, const Sizes& s) {
  return fused("norm_linear", label, s, {0, 1, 2, 3, 4}, [](const auto& in) {
    return norm_linear(in[0], {in[1], in[2]}, {in[3], in[4]});
  });
}

DropoutDraw draw(double p) { return {p, {3, 5}, 7}; }

OpCase residual_case(const char* label, const Sizes& s, double p) {
  return fused("linear_residual", label, s, {0, 3, 4, 5}, [p](const auto& in) {
    return linear_residual(in[0], {in[1], in[2]}, draw(p), in[3]);
  });
}

OpCase activation_case(const char* label, const Sizes& s, double p,
                       kernels::Activation f) {
  return fused("activation_linear_residual", label, s, {0, 3, 4, 5},
               [p, f](const auto& in) {
                 return activation_linear_residual(f, in[0], {in[1], in[2]},
                                                   draw(p), in[3]);
               });
}

using kernels::Activation;

const AddCases kNormLinear({
    norm_case("Small", {{2, 5, 3}, 4}),
    norm_case("Odd", {{33, 17}, 65}),
    norm_case("Makemore", {{32, 16, 64}, 192}),
    norm_case("ManyRows", {{1300, 24}, 40}),
    norm_case("NoRows", {{0, 4}, 3}),
    fused("norm_linear", "Plain", {{7, 8}, 5}, {0, 3},
          [](const auto& in) {
            return norm_linear(in[0], {}, {in[1], {}});
          }),
});

const AddCases kLinearResidual({
    residual_case("Small", {{2, 5, 3}, 4}, 0),
    residual_case("Dropout", {{70, 17}, 33}, 0.3),
    residual_case("Makemore", {{32, 16, 64}, 64}, 0.1),
    residual_case("NoRows", {{0, 4}, 3}, 0.5),
    fused("linear_residual", "NoBias", {{7, 8}, 5}, {0, 3, 5},
          [](const auto& in) {
            return linear_residual(in[0], {in[1], {}}, {}, in[2]);
          }),
});

const AddCases kActivationLinearResidual({
    activation_case("Tanh", {{2, 5, 3}, 4}, 0, Activation::gelu_tanh),
    activation_case("Erf", {{70, 17}, 33}, 0.3, Activation::gelu_erf),
    activation_case("Makemore", {{32, 16, 256}, 64}, 0, Activation::gelu_tanh),
    activation_case("Relu", {{1300, 24}, 40}, 0.2, Activation::relu),
    activation_case("NoRows", {{0, 4}, 3}, 0.5, Activation::relu),
});

// The layers of a block of makemore's, of a small and of a middling GPT.
const AddBenchmarks kTimes({
    norm_case("512x64 to 192", {{512, 64}, 192}),
    norm_case("768x128 to 512", {{768, 128}, 512}),
    norm_case("4096x384 to 1536", {{4096, 384}, 1536}),
    residual_case("512x64 to 64", {{512, 64}, 64}, 0),
    residual_case("768x128 to 128", {{768, 128}, 128}, 0),
    residual_case("4096x384 to 384, dropout", {{4096, 384}, 384}, 0.2),
    activation_case("512x256 to 64", {{512, 256}, 64}, 0,
                    Activation::gelu_tanh),
    activation_case("768x512 to 128", {{768, 512}, 128}, 0,
                    Activation::gelu_tanh),
    activation_case("4096x1536 to 384, dropout", {{4096, 1536}, 384}, 0.2,
                    Activation::gelu_tanh),
});

}  // namespace
}  // namespace qkv::test
