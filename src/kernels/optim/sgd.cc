#include "kernels/optim/sgd.h"

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optim/sgd.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

void sgd_block(const SgdFactors<float>& f, const float* grad, int64_t n,
               float* w, float* buffer) {
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    const Vec weight = load(w + i, lanes);
    Vec g = hn::Mul(set(f.grad_scale), load(grad + i, lanes));
    if (f.decay != 0) g = hn::MulAdd(set(f.decay), weight, g);
    if (buffer) {
      Vec b = g;
      if (!f.first)
        b = hn::MulAdd(set(f.momentum), load(buffer + i, lanes),
                       hn::Mul(set(f.share), g));
      store(b, buffer + i, lanes);
      g = f.nesterov ? hn::MulAdd(set(f.momentum), b, g) : b;
    }
    store(hn::NegMulAdd(set(f.lr), g, weight), w + i, lanes);
  });
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(sgd_block);

}  // namespace

using std::int64_t;

template <class T>
void sgd(const SgdStep& s, const T* grad, int64_t n, T* w, T* buffer) {
  const SgdFactors<T> f(s);
  if (s.momentum == 0) buffer = nullptr;
  for_elements(n, 4, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(sgd_block)(
            f, grad + begin, end - begin, w + begin,
            buffer ? buffer + begin : nullptr);
    for (int64_t i = begin; i < end; ++i) {
      T g = f.grad_scale * grad[i];
      if (f.decay != 0) g += f.decay * w[i];
      if (buffer) {
        buffer[i] = f.first ? g : f.momentum * buffer[i] + f.share * g;
        g = f.nesterov ? g + f.momentum * buffer[i] : buffer[i];
      }
      w[i] -= f.lr * g;
    }
  });
}

template void sgd(const SgdStep&, const float*, int64_t, float*, float*);
template void sgd(const SgdStep&, const double*, int64_t, double*, double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
