// Reverse-mode differentiation over the operations that were run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "qkv/export.h"
#include "qkv/tensor.h"

namespace qkv {

// Adds d loss / d leaf to grad() of every leaf that the loss depends on and
// that requires a gradient. loss has one element. Frees what the operations
// saved, so a second call over one graph is an error unless keep_graph.
// Throws, naming the operation, when it reaches one without a backward.
QKV_API void backward(const Tensor& loss, bool keep_graph = false);

// The same, seeded: grad has output's shape and dtype.
QKV_API void backward_from(const Tensor& output, const Tensor& grad,
                           bool keep_graph = false);

// While one lives, operations on this thread record nothing.
class QKV_API NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

// While one lives, they record again: for a backward of one's own (which runs
// without recording) that computes something anew and differentiates it.
class QKV_API EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool before_;
};

// Whether operations on this thread record: the innermost of the two decides.
QKV_API bool grad_enabled();

// A user's own operation: output was computed from inputs (outside the tape);
// gradient(d output) returns one tensor per input, of its shape and dtype, or
// an undefined tensor for an input that needs none. Returns output with
// history.
QKV_API Tensor
custom_op(const std::string& name, const Tensor& output,
          const std::vector<Tensor>& inputs,
          std::function<std::vector<Tensor>(const Tensor& grad)> gradient);

}  // namespace qkv
