#include "kernels/optim/sgd.h"

#include "kernels/cut.h"

namespace qkv::kernels {

using std::int64_t;

template <class T>
void sgd(const SgdStep& s, const T* grad, int64_t n, T* w, T* buffer) {
  const T lr = static_cast<T>(s.lr);
  const T decay = static_cast<T>(s.weight_decay);
  const T momentum = static_cast<T>(s.momentum);
  const T share = static_cast<T>(1 - s.dampening);
  const T grad_scale = static_cast<T>(s.grad_scale);
  const bool has_buffer = s.momentum != 0;
  for_elements(n, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T g = grad_scale * grad[i];
      if (decay != 0) g += decay * w[i];
      if (has_buffer) {
        buffer[i] = s.first ? g : momentum * buffer[i] + share * g;
        g = s.nesterov ? g + momentum * buffer[i] : buffer[i];
      }
      w[i] -= lr * g;
    }
  });
}

template void sgd(const SgdStep&, const float*, int64_t, float*, float*);
template void sgd(const SgdStep&, const double*, int64_t, double*, double*);

}  // namespace qkv::kernels
