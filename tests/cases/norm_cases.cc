#include <string>
#include <vector>

#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

// Row lengths around the vectors of both instruction sets.
const std::int64_t kLengths[] = {8, 9, 15, 16, 17, 31, 65};

std::vector<OpCase> of_lengths(const char* op, Tensor (*f)(const Tensor&)) {
  std::vector<OpCase> cases;
  for (std::int64_t n : kLengths)
    cases.push_back(of_one_input(op, "n" + std::to_string(n), {3, n}, f));
  return cases;
}

const AddCases kSoftmaxLengths(of_lengths("softmax", softmax));
const AddCases kLogSoftmaxLengths(of_lengths("log_softmax", log_softmax));
const AddCases kSoftmax({
    of_one_input("softmax", "Rows", {3, 4, 7}, softmax),
    of_one_input("softmax", "One", {5, 1}, softmax),
    of_one_input("softmax", "Long", {2, 1001}, softmax),
    of_one_input("softmax", "NoRows", {0, 5}, softmax),
    of_one_input("log_softmax", "Rows", {3, 4, 7}, log_softmax),
    of_one_input("log_softmax", "One", {5, 1}, log_softmax),
    of_one_input("log_softmax", "Long", {2, 1001}, log_softmax),
});

OpCase norm(const char* label, Shape shape, bool weight, bool bias) {
  const std::int64_t n = shape.dim(-1);
  return {.op = "layer_norm",
          .label = label,
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                std::vector<Tensor> all{normal(shape, dtype, rng)};
                if (weight) all.push_back(normal({n}, dtype, rng));
                if (bias) all.push_back(normal({n}, dtype, rng));
                return all;
              },
          .run =
              [=](const auto& in) {
                return layer_norm(in[0], weight ? in[1] : Tensor(),
                                  bias ? in[2] : Tensor());
              },
          .tolerance = 1e-4,
          .sparse_gradients = shape.numel() ==
                              0};  // a gradient sums n products of rounded rows
}

const AddCases kLayerNorm({
    norm("Full", {3, 4, 8}, true, true),
    norm("NoBias", {5, 17}, true, false),
    norm("Plain", {2, 33}, false, false),
    norm("ManyRows", {513, 64}, true, true),
    norm("NoRows", {0, 8}, true, true),
    norm("TwoColumns", {3, 2}, true, true),
});

OpCase by_column(const char* label, Shape shape, Variance variance) {
  const std::int64_t n = shape.dim(-1);
  return {.op = "batch_norm",
          .label = label,
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                return std::vector<Tensor>{normal(shape, dtype, rng),
                                           normal({n}, dtype, rng),
                                           normal({n}, dtype, rng)};
              },
          .run =
              [=](const auto& in) {
                return batch_norm(in[0], in[1], in[2], 1e-5, variance).output;
              },
          .tolerance = 1e-4};
}

const AddCases kBatchNorm({
    by_column("Matrix", {7, 5}, Variance::biased),
    by_column("ThreeAxes", {4, 6, 17}, Variance::biased),
    by_column("Unbiased", {32, 33}, Variance::unbiased),
    by_column("FewRows", {3, 9}, Variance::biased),
    by_column("ManyColumns", {40, 1100}, Variance::biased),
});

constexpr double kMany = 4096.0 * 1024, kFew = 512.0 * 64;
// Forward reads and writes the rows once; backward reads two such tensors and
// writes a third.
const AddBenchmarks kTimes({
    moving(of_one_input("softmax", "4096x1024", {4096, 1024}, softmax),
           2 * kMany, 5 * kMany),
    moving(of_one_input("log_softmax", "4096x1024", {4096, 1024}, log_softmax),
           2 * kMany, 5 * kMany),
    moving(norm("512x64", {512, 64}, true, true), 2 * kFew, 5 * kFew),
    moving(norm("4096x1024", {4096, 1024}, true, true), 2 * kMany, 5 * kMany),
    moving(by_column("512x64", {512, 64}, Variance::biased), 2 * kFew,
           5 * kFew),
    moving(by_column("4096x1024", {4096, 1024}, Variance::biased), 2 * kMany,
           5 * kMany),
});

std::vector<OpCase> norms_of_lengths() {
  std::vector<OpCase> cases;
  for (std::int64_t n : kLengths)
    cases.push_back(
        norm(("n" + std::to_string(n)).c_str(), {3, n}, true, true));
  return cases;
}

const AddCases kLayerNormLengths(norms_of_lengths());

}  // namespace
}  // namespace qkv::test
