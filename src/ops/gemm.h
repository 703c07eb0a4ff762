// A matrix product with its workspace from the caching allocator.
#pragma once

#include "kernels/gemm/gemm.h"
#include "qkv/tensor.h"

namespace qkv {

template <class T>
void run_gemm(const kernels::Gemm<T>& g) {
  const std::int64_t wanted = kernels::gemm_workspace(g);
  Tensor workspace;
  if (wanted > 0) workspace = Tensor::empty({wanted}, DTypeOf<T>::value);
  kernels::gemm<T>(g, wanted > 0 ? workspace.data<T>() : nullptr);
}

}  // namespace qkv
