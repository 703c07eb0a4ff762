// Differentiable operations. Shapes are in the comments; … stands for any axes.
// Every operation throws qkv::Error (input) when shapes or dtypes do not fit,
// naming itself and both. f32 and f64; all inputs of a call share the dtype.
#pragma once

#include <cstdint>
#include <vector>

#include "qkv/export.h"
#include "qkv/rng.h"
#include "qkv/tensor.h"

namespace qkv {

// ---- Matrices ---------------------------------------------------------------

// x (…,in), weight (out,in), bias (out) or undefined -> (…,out): x Wᵀ + b.
QKV_API Tensor linear(const Tensor& x, const Tensor& weight,
                      const Tensor& bias = {});
// a (…,M,K), b (…,K,N) -> (…,M,N); leading axes equal, or b has none.
QKV_API Tensor matmul(const Tensor& a, const Tensor& b);

// ---- Element by element -----------------------------------------------------

// a + b, broadcast as in NumPy.
QKV_API Tensor add(const Tensor& a, const Tensor& b);
// a · b, broadcast as in NumPy.
QKV_API Tensor mul(const Tensor& a, const Tensor& b);
// factor · x.
QKV_API Tensor scale(const Tensor& x, double factor);
// max(x, 0); its gradient at 0 is 0.
QKV_API Tensor relu(const Tensor& x);
// x·Φ(x), Φ the normal distribution function (Hendrycks & Gimpel 2016).
QKV_API Tensor gelu_erf(const Tensor& x);
// Its approximation, x/2·(1 + tanh(√(2/π)(x + 0.044715 x³))): GPT-2's.
QKV_API Tensor gelu_tanh(const Tensor& x);
QKV_API Tensor tanh(const Tensor& x);
// 1/(1 + e^-x).
QKV_API Tensor sigmoid(const Tensor& x);
// e^x.
QKV_API Tensor exp(const Tensor& x);
// The natural logarithm; of 0 it is -infinity, of less NaN.
QKV_API Tensor log(const Tensor& x);
// Zero with probability p, else x/(1-p); element i of the tensor decides by
// rng.uniform(stream, i) < p. p in [0, 1) (Srivastava et al. 2014).
QKV_API Tensor dropout(const Tensor& x, double p, const StepRng& rng,
                       std::uint64_t stream);

// ---- Along an axis ----------------------------------------------------------

// e^(x-m) / Σ e^(x-m) along the last axis, m its largest.
QKV_API Tensor softmax(const Tensor& x);
// x - m - ln Σ e^(x-m) along the last axis.
QKV_API Tensor log_softmax(const Tensor& x);
// (x - mean)/√(var + eps) · weight + bias along the last axis, of n: var with
// 1/n; weight, bias (n), bias may be undefined (Ba et al. 2016).
QKV_API Tensor layer_norm(const Tensor& x, const Tensor& weight,
                          const Tensor& bias, double eps = 1e-5);

// Which variance batch_norm normalises by.
enum class Variance {
  biased,   // normalises by Σ(x - mean)²/rows, as PyTorch
  unbiased  // by Σ(x - mean)²/(rows - 1)
};
// What batch_norm gives.
struct BatchNormResult {
  Tensor output;
  // Of this batch, (n), without history; variance and its root are unbiased,
  // as PyTorch keeps them.
  Tensor mean, variance, deviation;
};
// Of each column (the last axis), over all other axes: (x - mean)/√(var + eps)
// · weight + bias (Ioffe & Szegedy 2015). weight, bias (n). Needs two rows.
QKV_API BatchNormResult batch_norm(const Tensor& x, const Tensor& weight,
                                   const Tensor& bias, double eps = 1e-5,
                                   Variance variance = Variance::biased);
// The same with statistics given, (n) each; no gradient goes to them.
QKV_API Tensor batch_norm_with(const Tensor& x, const Tensor& weight,
                               const Tensor& bias, const Tensor& mean,
                               const Tensor& variance, double eps = 1e-5);

// Σ along an axis; a negative axis counts from the end. keep_axis: it stays,
// with size 1.
QKV_API Tensor sum(const Tensor& x, int axis, bool keep_axis = false);
// Σ/n along an axis; throws where it is empty.
QKV_API Tensor mean(const Tensor& x, int axis, bool keep_axis = false);
// The largest along an axis, NaN where there is one; its gradient goes to the
// first of equals. Throws where the axis is empty.
QKV_API Tensor max(const Tensor& x, int axis, bool keep_axis = false);
// Of all elements, a scalar.
QKV_API Tensor sum(const Tensor& x);
// Of all elements, a scalar.
QKV_API Tensor mean(const Tensor& x);

// ---- Shape ------------------------------------------------------------------

// The same elements, row-major, in another shape; one size may be -1. A view
// where x is contiguous, else a copy.
QKV_API Tensor reshape(const Tensor& x,
                       std::initializer_list<std::int64_t> sizes);
QKV_API Tensor reshape(const Tensor& x, const Shape& shape);
// Two axes exchanged: a view.
QKV_API Tensor transpose(const Tensor& x, int axis_a, int axis_b);
// Elements begin … end-1 of an axis, a view; negative positions count from its
// end.
QKV_API Tensor slice(const Tensor& x, int axis, std::int64_t begin,
                     std::int64_t end);
// One after another along an axis; the other axes must be equal.
QKV_API Tensor concat(const std::vector<Tensor>& parts, int axis);
// x itself where its elements lie row-major without gaps, else such a copy.
QKV_API Tensor contiguous(const Tensor& x);

// ---- Tables and losses: ids and targets are i64 -----------------------------

// table (V,D), ids (…) -> (…,D). An id outside [0,V) is an error that names it.
QKV_API Tensor embedding(const Tensor& table, const Tensor& ids);

// In nats, natural logarithms.
struct Loss {
  Tensor mean;       // scalar: over the targets that are not ignored; 0 if none
  Tensor per_token;  // (rows), without history; 0 where ignored
  std::int64_t tokens = 0;  // targets that count
};
inline constexpr std::int64_t kIgnore = -1;

// logits (…,V), targets (…): the mean of -log softmax(logits)[target]. A target
// outside [0,V) that is not `ignore` is an error that names position and value.
QKV_API Loss cross_entropy(const Tensor& logits, const Tensor& targets,
                           std::int64_t ignore = kIgnore);

// linear then cross_entropy in one: x (…,D), weight (V,D), bias (V) or
// undefined. By chunks of rows, gradients made at once: the logits of all rows
// never exist together.
QKV_API Loss head_loss(const Tensor& x, const Tensor& weight,
                       const Tensor& bias, const Tensor& targets,
                       std::int64_t ignore = kIgnore);

}  // namespace qkv
