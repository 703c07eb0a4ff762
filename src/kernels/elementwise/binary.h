// Two operands, element by element, with broadcasting.
#pragma once

#include <cstdint>

#include "kernels/elementwise/layout.h"

namespace qkv::kernels {

enum class Binary { add, multiply };

// out, contiguous in the order of layout's axes (size layout.numel()), from a
// and b read by its strides. out may be a or b where that one is contiguous.
template <class T>
void binary(Binary op, const Layout& layout, const T* a, const T* b, T* out);

}  // namespace qkv::kernels
