#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

OpCase two(const char* op, const char* label, Shape a, Shape b,
           Tensor (*f)(const Tensor&, const Tensor&)) {
  return {.op = op,
          .label = label,
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                return std::vector<Tensor>{normal(a, dtype, rng),
                                           normal(b, dtype, rng)};
              },
          .run = [f](const auto& in) { return f(in[0], in[1]); }};
}

const AddCases kBinary({
    two("add", "Same", {3, 5, 7}, {3, 5, 7}, add),
    two("add", "Row", {4, 3, 17}, {17}, add),
    two("add", "Column", {4, 3}, {4, 1}, add),
    two("add", "BothRepeat", {3, 1, 5}, {4, 1}, add),
    two("add", "Scalar", {2, 3}, {}, add),
    two("add", "Empty", {0, 3}, {3}, add),
    two("add", "Long", {3, 20000}, {20000}, add),
    two("mul", "Same", {3, 5, 7}, {3, 5, 7}, mul),
    two("mul", "Row", {4, 3, 17}, {17}, mul),
    two("mul", "BothRepeat", {3, 1, 5}, {4, 1}, mul),
    two("mul", "Scalar", {2, 3}, {}, mul),
    two("mul", "Column", {31, 17}, {31, 1}, mul),
    two("mul", "Empty", {2, 0}, {1}, mul),
    two("add", "SixAxes", {2, 1, 3, 1, 2, 3}, {1, 2, 3, 2, 1, 3}, add),
});

const AddCases kSquare(
    {{.op = "mul",
      .label = "WithItself",
      .inputs =
          [](DType dtype, TorchRng& rng) {
            return std::vector<Tensor>{normal({3, 4}, dtype, rng)};
          },
      .run = [](const auto& in) { return mul(in[0], in[0]); }}});

const AddCases kScale(
    {{.op = "scale",
      .label = "ByMinusThird",
      .inputs =
          [](DType dtype, TorchRng& rng) {
            return std::vector<Tensor>{normal({5, 9}, dtype, rng)};
          },
      .run = [](const auto& in) { return scale(in[0], -1.0 / 3); }}});

OpCase dropped(const char* label, Shape shape, double p) {
  return {.op = "dropout",
          .label = label,
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                return std::vector<Tensor>{normal(shape, dtype, rng)};
              },
          .run =
              [p](const auto& in) {
                return dropout(in[0], p, StepRng{.seed = 7, .step = 3}, 99);
              }};
}

const AddCases kDropout({dropped("Fifth", {3, 50}, 0.2),
                         dropped("Nothing", {3, 5}, 0),
                         dropped("Long", {70001}, 0.5)});

constexpr double kMany = 4096.0 * 1024;
const AddBenchmarks kTimes({
    // The gradient of a sum is handed on as it is.
    moving(two("add", "4096x1024", {4096, 1024}, {4096, 1024}, add), 3 * kMany,
           0),
    moving(two("mul", "4096x1024", {4096, 1024}, {4096, 1024}, mul), 3 * kMany,
           8 * kMany),
    moving(of_one_input("scale", "4096x1024", {4096, 1024},
                        [](const Tensor& x) { return scale(x, 0.5); }),
           2 * kMany, 4 * kMany),
    moving(dropped("4096x1024", {4096, 1024}, 0.2), 2 * kMany, 4 * kMany),
});

}  // namespace
}  // namespace qkv::test
