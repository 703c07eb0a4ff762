// Cross entropy of rows of logits against one target each:
// loss = ln Σ exp(x) - x[target], d loss / d x = softmax(x) - [i = target].
#pragma once

#include <cstdint>

namespace qkv::kernels {

// logits (rows,n) with rows `stride` apart; targets (rows), each in [0,n) or
// equal to `ignore`: such a row has loss 0 and gradient 0.
template <class T>
struct CrossEntropy {
  const T* logits = nullptr;
  std::int64_t rows = 0, n = 0, stride = 0;
  const std::int64_t* targets = nullptr;
  std::int64_t ignore = -1;
};

// losses (rows). log_sum (rows) = ln Σ exp(x), for backward; may be null.
template <class T>
void cross_entropy(const CrossEntropy<T>& x, T* losses, T* log_sum);

// dlogits, laid out as logits (and possibly the same memory): row_scale[r]
// times the gradient of row r; row_scale null: `scale` for every row.
template <class T>
void cross_entropy_backward(const CrossEntropy<T>& x, const T* log_sum,
                            const T* row_scale, T scale, T* dlogits);

// Both while the row is in cache: losses, and dlogits = scale · gradient.
template <class T>
void cross_entropy_with_gradient(const CrossEntropy<T>& x, T scale, T* losses,
                                 T* dlogits);

}  // namespace qkv::kernels
