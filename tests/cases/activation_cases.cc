#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

using Unary = Tensor (*)(const Tensor&);

// n values spread over where f bends.
OpCase case_of(const char* op, Unary f, std::int64_t n, double spread,
               double shift) {
  return {.op = op,
          .label = "n" + std::to_string(n),
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                Tensor x = normal({n}, DType::f64, rng);
                for (auto* p = x.data<double>(); p != x.data<double>() + n; ++p)
                  *p = shift > 0 ? shift + std::abs(*p) * spread : *p * spread;
                return std::vector<Tensor>{x.to(DType::f32).to(dtype)};
              },
          .run = [f](const auto& in) { return f(in[0]); }};
}

// Sizes around the vector widths; and one beyond a core's own caches, where
// forward reads one tensor and writes one, backward reads two and writes one.
struct AddUnary {
  AddUnary(const char* op, Unary f, double spread, double shift = 0) {
    std::vector<OpCase> cases;
    for (std::int64_t n : {1, 7, 33, 1000})
      cases.push_back(case_of(op, f, n, spread, shift));
    const AddCases add(std::move(cases));
    constexpr std::int64_t kMany = 1 << 22;
    const AddBenchmarks time({moving(case_of(op, f, kMany, spread, shift),
                                     2.0 * kMany, 5.0 * kMany)});
  }
};

const AddUnary kRelu("relu", relu, 1);
const AddUnary kGeluErf("gelu_erf", gelu_erf, 2);
const AddUnary kGeluTanh("gelu_tanh", gelu_tanh, 2);
const AddUnary kTanh("tanh", tanh, 2);
const AddUnary kSigmoid("sigmoid", sigmoid, 3);
const AddUnary kExp("exp", exp, 1);
const AddUnary kLog("log", log, 2, 0.3);

}  // namespace
}  // namespace qkv::test
