// Reductions over one axis of (outer, n, inner), and what their backward needs.
// Sum over the rows of a matrix (a bias gradient): outer 1, inner the columns.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// Elements of workspace that sum_axis wants; 0 when n is short, kRowChunk
// (kernels/cut.h) at most.
std::int64_t sum_axis_workspace(std::int64_t outer, std::int64_t n,
                                std::int64_t inner);

// out (outer,inner) = Σ over n. Long sums are cut into chunks by the shape, the
// chunks' sums added in order. n = 0 gives 0.
template <class T>
void sum_axis(const T* x, std::int64_t outer, std::int64_t n,
              std::int64_t inner, T* out, T* workspace);

// out (outer,n,inner) = factor · x (outer,inner) repeated: the gradient of a
// sum (factor 1) or a mean (1/n).
template <class T>
void expand_axis(const T* x, std::int64_t outer, std::int64_t n,
                 std::int64_t inner, T factor, T* out);

// values and indices (outer,inner): the largest and the first place that holds
// it; a NaN counts as largest. n >= 1. indices may be null.
template <class T>
void max_axis(const T* x, std::int64_t outer, std::int64_t n,
              std::int64_t inner, T* values, std::int64_t* indices);

// dx (outer,n,inner) = dy (outer,inner) at indices, 0 elsewhere.
template <class T>
void max_axis_backward(const T* dy, const std::int64_t* indices,
                       std::int64_t outer, std::int64_t n, std::int64_t inner,
                       T* dx);

}  // namespace qkv::kernels
