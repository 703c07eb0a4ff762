// The context of a model that sees a fixed number of tokens, as ids.
#pragma once

#include <cstdint>

#include "qkv/tensor.h"

namespace qkv {

// ids (B,T) -> (B,count,context): of each of the last `count` positions the id
// there and the context-1 before it, the newest last or first; `blank` where
// the sequence has not begun.
enum class NewestAt { end, front };
Tensor id_windows(const Tensor& ids, std::int64_t count, std::int64_t context,
                  std::int64_t blank, NewestAt newest);

}  // namespace qkv
