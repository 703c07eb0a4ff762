#include "kernels/optim/adamw.h"

#include <cmath>

#include "kernels/cut.h"
#include "kernels/path.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optim/adamw.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using std::int64_t;

void adamw_block(const AdamWFactors<float>& f, const float* grad, int64_t n,
                 float* w, float* m, float* v) {
  each(n, [&](int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    const Vec g = hn::Mul(set(f.grad_scale), load(grad + i, lanes));
    const Vec m_old = load(m + i, lanes);
    const Vec m_new =
        hn::MulAdd(set(f.one_minus_beta1), hn::Sub(g, m_old), m_old);
    const Vec v_new = hn::MulAdd(set(f.one_minus_beta2), hn::Mul(g, g),
                                 hn::Mul(set(f.beta2), load(v + i, lanes)));
    const Vec root =
        hn::MulAdd(hn::Sqrt(v_new), set(f.inverse_root), set(f.eps));
    const Vec kept = hn::Mul(set(f.keep), load(w + i, lanes));
    store(m_new, m + i, lanes);
    store(v_new, v + i, lanes);
    store(hn::NegMulAdd(set(f.rate), hn::Div(m_new, root), kept), w + i, lanes);
  });
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(adamw_block);

}  // namespace

using std::int64_t;

template <class T>
void adamw(const AdamWStep& s, const T* grad, int64_t n, T* w, T* m, T* v) {
  const AdamWFactors<T> f(s);
  for_elements(n, 8, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>)
      if (use_fast<T>())
        return HWY_DYNAMIC_DISPATCH(adamw_block)(
            f, grad + begin, end - begin, w + begin, m + begin, v + begin);
    for (int64_t i = begin; i < end; ++i) {
      const T g = f.grad_scale * grad[i];
      m[i] += f.one_minus_beta1 * (g - m[i]);
      v[i] = f.beta2 * v[i] + f.one_minus_beta2 * (g * g);
      const T root = std::sqrt(v[i]) * f.inverse_root + f.eps;
      w[i] = f.keep * w[i] - f.rate * (m[i] / root);
    }
  });
}

template void adamw(const AdamWStep&, const float*, int64_t, float*, float*,
                    float*);
template void adamw(const AdamWStep&, const double*, int64_t, double*, double*,
                    double*);

}  // namespace qkv::kernels
#endif  // HWY_ONCE
