#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

OpCase linear_case(const char* label, Shape x, std::int64_t out, bool bias) {
  const std::int64_t in = x.dim(-1);
  return {.op = "linear",
          .label = label,
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                std::vector<Tensor> all{normal(x, dtype, rng),
                                        normal({out, in}, dtype, rng)};
                if (bias) all.push_back(normal({out}, dtype, rng));
                return all;
              },
          .run =
              [=](const auto& in) {
                return linear(in[0], in[1], bias ? in[2] : Tensor());
              },
          .flops = 2.0 * static_cast<double>(x.numel() * out),
          .sparse_gradients = x.numel() == 0};
}

OpCase matmul_case(const char* label, Shape a, Shape b) {
  return {.op = "matmul",
          .label = label,
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                return std::vector<Tensor>{normal(a, dtype, rng),
                                           normal(b, dtype, rng)};
              },
          .run = [](const auto& in) { return matmul(in[0], in[1]); },
          .flops = 2.0 * static_cast<double>(a.numel() * b.dim(-1)),
          .sparse_gradients = a.numel() == 0};
}

const AddCases kLinear({
    linear_case("Bias", {2, 5, 3}, 4, true),
    linear_case("NoBias", {7, 8}, 5, false),
    linear_case("OneRow", {9}, 2, true),
    linear_case("NoRows", {0, 4}, 3, true),
    linear_case("Odd", {33, 17}, 65, true),
    linear_case("Makemore", {32, 16, 64}, 192, true),
    linear_case("LongSum", {4096, 24}, 16, true),
    linear_case("WideOut", {3, 20}, 1300, true),
    linear_case("NoInputs", {3, 0}, 4, true),
    linear_case("OneByOne", {1, 1}, 1, true),
});

const AddBenchmarks kLinearTimes({
    linear_case("512x64 to 192", {512, 64}, 192, true),
    linear_case("768x128 to 512", {768, 128}, 512, true),
    linear_case("4096x384 to 1536", {4096, 384}, 1536, true),
});

const AddBenchmarks kMatmulTimes({
    matmul_case("24x256x64 by 24x64x256", {24, 256, 64}, {24, 64, 256}),
});

const AddCases kMatmul({
    matmul_case("Plain", {3, 4}, {4, 5}),
    matmul_case("Batch", {2, 3, 4, 5}, {2, 3, 5, 6}),
    matmul_case("SharedRight", {2, 3, 5}, {5, 4}),
    matmul_case("Vectors", {1, 6}, {6, 1}),
    matmul_case("EmptySum", {3, 0}, {0, 4}),
    matmul_case("Odd", {2, 31, 17}, {2, 17, 65}),
    matmul_case("ManySmall", {128, 3, 16}, {128, 16, 5}),
    matmul_case("NoBatch", {0, 2, 3}, {0, 3, 4}),
});

}  // namespace
}  // namespace qkv::test
