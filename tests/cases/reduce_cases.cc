#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

OpCase reduce(const char* op, const char* label, const Shape& shape,
              const std::function<Tensor(const Tensor&)>& f) {
  OpCase made = of_one_input(op, label, shape, f);
  made.sparse_gradients = std::string(op) == "max";
  return made;
}

const AddCases kReduce({
    reduce("sum", "First", {5, 3, 4},
           [](const Tensor& x) { return sum(x, 0); }),
    reduce("sum", "MiddleKept", {5, 3, 4},
           [](const Tensor& x) { return sum(x, 1, true); }),
    reduce("sum", "Last", {5, 33}, [](const Tensor& x) { return sum(x, -1); }),
    reduce("sum", "All", {5, 33}, [](const Tensor& x) { return sum(x); }),
    reduce("sum", "EmptyAxis", {3, 0, 2},
           [](const Tensor& x) { return sum(x, 1); }),
    reduce("sum", "LongFirst", {3000, 17},
           [](const Tensor& x) { return sum(x, 0); }),
    reduce("mean", "First", {5, 3, 4},
           [](const Tensor& x) { return mean(x, 0); }),
    reduce("mean", "LastOfSeventeen", {6, 17},
           [](const Tensor& x) { return mean(x, -1); }),
    reduce("mean", "MiddleKept", {2, 31, 3},
           [](const Tensor& x) { return mean(x, 1, true); }),
    reduce("sum", "LongRow", {2, 40001},
           [](const Tensor& x) { return sum(x, 1); }),
    reduce("max", "Middle", {2, 15, 4},
           [](const Tensor& x) { return max(x, 1); }),
    reduce("mean", "All", {7, 9}, [](const Tensor& x) { return mean(x); }),
    reduce("max", "Last", {5, 33}, [](const Tensor& x) { return max(x, -1); }),
    reduce("max", "FirstKept", {5, 3, 4},
           [](const Tensor& x) { return max(x, 0, true); }),
});

// As the gradient of a bias is made. Backward writes what forward read.
constexpr double kMany = 4096.0 * 1536;
const AddBenchmarks kTimes(
    {moving(of_one_input("sum", "4096x1536 of rows", {4096, 1536},
                         [](const Tensor& x) { return sum(x, 0); }),
            kMany, 2 * kMany)});

}  // namespace
}  // namespace qkv::test
