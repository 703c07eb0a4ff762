// Batched matrix product.
#include "kernels/elementwise/reduce.h"
#include "ops/common.h"
#include "ops/gemm.h"

namespace qkv {
namespace {

const Op kMatmul("matmul");

struct Saved {
  Tensor a, b;
  bool shared_b = false;  // one (K,N) for all of a's batch
};

template <class T>
void run(kernels::Gemm<T> g, std::int64_t batch, bool shared_b) {
  if (batch == 1 || shared_b) return run_gemm<T>(g);
  kernels::gemm_batched<T>(g, batch, g.trans_a ? g.k * g.lda : g.m * g.lda,
                           g.trans_b ? g.n * g.ldb : g.k * g.ldb, g.m * g.ldc);
}

template <class T>
void matmul_backward(const Saved& saved, const Tensor& dc, Gradients& inputs) {
  const std::int64_t k = saved.b.dim(-2), n = saved.b.dim(-1);
  std::int64_t batch = 1, m = saved.a.dim(-2);
  if (saved.shared_b)
    m = k == 0 ? 0 : saved.a.numel() / k;
  else
    for (int i = 0; i < saved.a.rank() - 2; ++i) batch *= saved.a.dim(i);
  if (inputs.wants(0)) {  // da = dc bᵀ
    Tensor da = Tensor::empty(saved.a.shape(), dc.dtype());
    run<T>({.trans_b = true,
            .m = m,
            .n = k,
            .k = n,
            .a = dc.data<T>(),
            .lda = n,
            .b = saved.b.data<T>(),
            .ldb = n,
            .c = da.data<T>(),
            .ldc = k},
           batch, saved.shared_b);
    inputs.add(0, std::move(da));
  }
  if (inputs.wants(1)) {  // db = aᵀ dc
    Tensor db = Tensor::empty(saved.b.shape(), dc.dtype());
    run<T>({.trans_a = true,
            .m = k,
            .n = n,
            .k = m,
            .a = saved.a.data<T>(),
            .lda = k,
            .b = dc.data<T>(),
            .ldb = n,
            .c = db.data<T>(),
            .ldc = n},
           batch, saved.shared_b);
    inputs.add(1, std::move(db));
  }
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_same_type("matmul", a, b);
  const bool shared_b = b.rank() == 2;
  bool fits = a.rank() >= 2 && b.rank() >= 2 && a.dim(-1) == b.dim(-2) &&
              (shared_b || a.rank() == b.rank());
  if (fits && !shared_b)
    for (int i = 0; i < a.rank() - 2; ++i) fits &= a.dim(i) == b.dim(i);
  if (!fits)
    fail_input("[matmul] {} times {} does not fit: (…,M,K) times (…,K,N)",
               a.shape().str(), b.shape().str());
  const Tensor pa = packed(a), pb = packed(b);
  const std::int64_t k = a.dim(-1), n = b.dim(-1);
  Tensor c = Tensor::empty(a.shape().with(-1, n), a.dtype());
  std::int64_t batch = 1, m = a.dim(-2);
  for (int i = 0; i < a.rank() - 2; ++i) (shared_b ? m : batch) *= a.dim(i);
  with_compute_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    run<T>({.m = m,
            .n = n,
            .k = k,
            .a = pa.data<T>(),
            .lda = k,
            .b = pb.data<T>(),
            .ldb = n,
            .c = c.data<T>(),
            .ldc = n},
           batch, shared_b);
    record(kMatmul, c, {a, b}, Saved{pa, pb, shared_b}, matmul_backward<T>);
  });
  return c;
}

}  // namespace qkv
