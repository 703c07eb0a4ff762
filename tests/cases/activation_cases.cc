#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

using Unary = Tensor (*)(const Tensor&);

// Sizes around the vector widths; values spread over where each one bends.
std::vector<OpCase> cases_of(const char* op, Unary f, double spread,
                             double shift = 0) {
  std::vector<OpCase> cases;
  for (std::int64_t n : {1, 7, 33, 1000}) {
    cases.push_back(
        {.op = op,
         .label = "n" + std::to_string(n),
         .inputs =
             [=](DType dtype, TorchRng& rng) {
               Tensor x = normal({n}, DType::f64, rng);
               for (auto* p = x.data<double>(); p != x.data<double>() + n; ++p)
                 *p = shift > 0 ? shift + std::abs(*p) * spread : *p * spread;
               return std::vector<Tensor>{x.to(DType::f32).to(dtype)};
             },
         .run = [f](const auto& in) { return f(in[0]); },
         .bytes = 8.0 * static_cast<double>(n)});
  }
  return cases;
}

const AddCases kRelu(cases_of("relu", relu, 1));
const AddCases kGeluErf(cases_of("gelu_erf", gelu_erf, 2));
const AddCases kGeluTanh(cases_of("gelu_tanh", gelu_tanh, 2));
const AddCases kTanh(cases_of("tanh", tanh, 2));
const AddCases kSigmoid(cases_of("sigmoid", sigmoid, 3));
const AddCases kExp(cases_of("exp", exp, 1));
const AddCases kLog(cases_of("log", log, 2, 0.3));

}  // namespace
}  // namespace qkv::test
