// One description of an operation drives all its tests and its benchmark.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "qkv/ops.h"
#include "qkv/rng.h"
#include "qkv/tensor.h"

namespace qkv::test {

struct OpCase {
  std::string op;     // its registered name
  std::string label;  // what is special about this case; letters and digits
  // Makes the inputs; floating ones in the dtype given, the others (ids) i64.
  std::function<std::vector<Tensor>(DType, TorchRng&)> inputs;
  std::function<Tensor(const std::vector<Tensor>&)> run;
  // Fast f32 against f64 reference: |a - b| <= tolerance · max(1, max |b|), for
  // the output and for every gradient.
  double tolerance = 2e-5;
  // Of the forward, for the benchmark: operations where multiply-adds are the
  // bound, else the bytes that it has to read and write at least; and how many
  // times as much forward and backward are together.
  double flops = 0, bytes = 0;
  double with_backward = 3;
  bool differentiable = true;
  // Whether the inputs may be given with strides and the values left alone: not
  // where the case itself is about strides.
  bool strided_variant = true;
  // Gradients that are nearly all 0 by nature (a maximum, an empty batch): else
  // a check of zeros against zeros counts as a failure.
  bool sparse_gradients = false;
};

// Every case, in order of registration.
const std::vector<OpCase>& op_cases();

// A static of this type in a file of cases adds them.
struct AddCases {
  explicit AddCases(std::vector<OpCase> cases);
};

// The same of sizes that are worth measuring, for the benchmark alone; labels
// are shapes. Not differentiable: where a backward has nothing to do.
const std::vector<OpCase>& benchmark_cases();
struct AddBenchmarks {
  explicit AddBenchmarks(std::vector<OpCase> cases);
};
// A case that memory bounds: `forward` and `both` (0: no backward) f32 numbers
// are read or written at least.
OpCase moving(OpCase c, double forward, double both);

// A case of f on one normal input of this shape.
OpCase of_one_input(const char* op, const std::string& label,
                    const Shape& shape,
                    const std::function<Tensor(const Tensor&)>& f);

// Standard normal numbers, and ids below limit.
Tensor normal(const Shape& shape, DType dtype, TorchRng& rng);
Tensor random_ids(const Shape& shape, std::int64_t limit, TorchRng& rng);

// The same values with gaps between them: no axis is contiguous.
Tensor with_gaps(const Tensor& x);

}  // namespace qkv::test
