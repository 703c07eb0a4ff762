#include "kernels/optim/adamw.h"

#include <cmath>

#include "kernels/cut.h"

namespace qkv::kernels {

using std::int64_t;

template <class T>
void adamw(const AdamWStep& s, const T* grad, int64_t n, T* w, T* m, T* v) {
  const auto steps = static_cast<double>(s.step);
  const T keep = static_cast<T>(1 - s.lr * s.weight_decay);
  const T one_minus_beta1 = static_cast<T>(1 - s.beta1);
  const T beta2 = static_cast<T>(s.beta2);
  const T one_minus_beta2 = static_cast<T>(1 - s.beta2);
  const T rate = static_cast<T>(s.lr / (1 - std::pow(s.beta1, steps)));
  const T root = static_cast<T>(std::sqrt(1 - std::pow(s.beta2, steps)));
  const T eps = static_cast<T>(s.eps);
  const T grad_scale = static_cast<T>(s.grad_scale);
  for_elements(n, 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T g = grad_scale * grad[i];
      m[i] += one_minus_beta1 * (g - m[i]);
      v[i] = beta2 * v[i] + one_minus_beta2 * (g * g);
      w[i] = keep * w[i] - rate * (m[i] / (std::sqrt(v[i]) / root + eps));
    }
  });
}

template void adamw(const AdamWStep&, const float*, int64_t, float*, float*,
                    float*);
template void adamw(const AdamWStep&, const double*, int64_t, double*, double*,
                    double*);

}  // namespace qkv::kernels
