// The plain matrix product, for double and for the reference path.
#pragma once

#include "kernels/gemm/gemm.h"

namespace qkv::kernels {

// Each element's sum runs over k in order.
template <class T>
void reference_gemm(const Gemm<T>& g);

}  // namespace qkv::kernels
