#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "kernels/elementwise/scale.h"
#include "kernels/optim/norm.h"
#include "optim/pieces.h"
#include "qkv/optim.h"

namespace qkv::optim {
namespace {

// PyTorch's: keeps a norm near zero from being divided by.
constexpr double kNormFloor = 1e-6;

// Calls f(gradient's first number, how many) for each gradient.
template <class F>
void for_gradients(const std::vector<Parameter>& parameters, F f) {
  for (const Parameter& p : parameters) {
    Tensor grad = p.tensor.grad();
    if (!grad) continue;
    if (grad.dtype() == DType::f32)
      f(grad.data<float>(), grad.numel());
    else
      f(grad.data<double>(), grad.numel());
  }
}

}  // namespace

double grad_norm(const std::vector<Parameter>& parameters) {
  const Pieces pieces = pieces_of(parameters);
  const auto count = static_cast<std::int64_t>(pieces.size());
  Tensor sums = Tensor::empty({count}, DType::f64);
  for_pieces(pieces, [&](std::int64_t i, const Piece& piece) {
    const Tensor grad = parameters[piece.parameter].tensor.grad();
    const auto sum = [&]<class T>(T) {
      return kernels::sum_of_squares(grad.data<T>() + piece.begin,
                                     piece.end - piece.begin);
    };
    sums.data<double>()[i] =
        grad.dtype() == DType::f32 ? sum(float{}) : sum(double{});
  });
  double total = 0, of_one = 0;  // of a parameter
  for (std::int64_t i = 0; i < count; ++i) {
    of_one += sums.data<double>()[i];
    if (i + 1 < count && pieces[i + 1].parameter == pieces[i].parameter)
      continue;
    total += of_one;
    of_one = 0;
  }
  return std::sqrt(total);
}

double clip_scale(double norm, double max_norm) {
  if (!(max_norm >= 0))
    fail_input("[clip] the largest norm must be 0 (none) or above, not {}",
               max_norm);
  if (!std::isfinite(norm))
    fail_numeric("[clip] the norm of the gradients is {}", norm);
  if (max_norm == 0) return 1;
  return std::min(1.0, max_norm / (norm + kNormFloor));
}

double clip_grad_norm(const std::vector<Parameter>& parameters,
                      double max_norm) {
  const double norm = grad_norm(parameters);
  if (!std::isfinite(norm)) return norm;
  const double scale = clip_scale(norm, max_norm);
  if (scale == 1) return norm;
  for_gradients(parameters, [&]<class T>(T* grad, std::int64_t n) {
    kernels::scale(grad, static_cast<T>(scale), n, grad);
  });
  return norm;
}

}  // namespace qkv::optim
