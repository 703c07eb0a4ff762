#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

OpCase look(const char* op, const char* label, const Shape& shape,
            const std::function<Tensor(const Tensor&)>& f) {
  OpCase made = of_one_input(op, label, shape, f);
  made.sparse_gradients = std::string(label) == "Nothing";
  return made;
}

const AddCases kShapes({
    look("reshape", "Join", {3, 4, 5},
         [](const Tensor& x) {
           return reshape(x, {12, -1});
         }),
    look("reshape", "OfTransposed", {3, 4},
         [](const Tensor& x) { return reshape(transpose(x, 0, 1), {12}); }),
    look("transpose", "Outer", {3, 4, 5},
         [](const Tensor& x) { return transpose(x, 0, 2); }),
    look("slice", "Middle", {3, 6, 2},
         [](const Tensor& x) { return slice(x, 1, 2, 5); }),
    look("slice", "LastToTheEnd", {3, 6},
         [](const Tensor& x) { return slice(x, -1, -2, 6); }),
    look("slice", "FirstOfTransposed", {4, 5, 3},
         [](const Tensor& x) { return slice(transpose(x, 0, 2), 0, 1, 3); }),
    look("transpose", "Heads", {2, 5, 3, 4},
         [](const Tensor& x) { return contiguous(transpose(x, 1, 2)); }),
    look("slice", "Nothing", {3, 6},
         [](const Tensor& x) { return slice(x, 1, 2, 2); }),
    look("contiguous", "Transposed", {7, 5},
         [](const Tensor& x) { return contiguous(transpose(x, 0, 1)); }),
});

constexpr double kMany = 16.0 * 256 * 1024;
const AddBenchmarks kTimes({moving(
    of_one_input("contiguous", "16x256x16x64 to heads", {16, 256, 16, 64},
                 [](const Tensor& x) {
                   return contiguous(transpose(x, 1, 2));
                 }),
    2 * kMany, 0)});

OpCase joined(const char* label, Shape a, Shape b, int axis) {
  return {.op = "concat",
          .label = label,
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                return std::vector<Tensor>{normal(a, dtype, rng),
                                           normal(b, dtype, rng)};
              },
          .run =
              [axis](const auto& in) {
                return concat({in[0], in[1]}, axis);
              }};
}

const AddCases kJoined({joined("First", {2, 3}, {4, 3}, 0),
                        joined("Last", {5, 3}, {5, 14}, -1)});

const AddCases kConcat({{.op = "concat",
                         .label = "Three",
                         .inputs =
                             [](DType dtype, TorchRng& rng) {
                               return std::vector<Tensor>{
                                   normal({2, 1, 3}, dtype, rng),
                                   normal({2, 4, 3}, dtype, rng),
                                   normal({2, 0, 3}, dtype, rng)};
                             },
                         .run =
                             [](const auto& in) {
                               return concat({in[0], in[1], in[2]}, 1);
                             }}});

}  // namespace
}  // namespace qkv::test
