// The caching allocator behind Tensor: blocks of numbers are kept by size when
// they are freed and handed out again, so that a steady step asks the system
// for nothing. Sizes are rounded up by at most an eighth.
#pragma once

#include <cstddef>

namespace qkv {

// 64-byte aligned; the contents are undefined (NaN bytes under set_poison).
// Throws an input error naming the size when the system has no such block.
void* allocate_bytes(std::size_t bytes);
void free_bytes(void* block, std::size_t bytes) noexcept;

}  // namespace qkv
