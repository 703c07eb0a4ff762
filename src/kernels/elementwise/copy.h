// Copies between layouts, for elements of any plain type.
#pragma once

#include <cstddef>

#include "kernels/elementwise/layout.h"

namespace qkv::kernels {

// target (strides b) = source (strides a), elements of 1, 2, 4 or 8 bytes. The
// two do not overlap. A transposition goes in square blocks.
void copy(const Layout& layout, std::size_t element_size, const void* source,
          void* target);

}  // namespace qkv::kernels
