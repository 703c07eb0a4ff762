// Attention over a few positions, four heads side by side, without the scores
// ever leaving the nearest cache. The tiled kernel's results, at half
// its cost where a block of it would be nearly empty.
#pragma once

#include "kernels/attention/attention.h"

namespace qkv::kernels {

inline constexpr std::int64_t kShort = 16;
inline constexpr std::int64_t kShortWidth = 64;

inline bool is_short(const AttentionShape& s) {
  return s.queries > 0 && s.queries <= kShort && s.keys <= kShort &&
         s.width > 0 && s.width <= kShortWidth;
}
// As attention_flash and attention_flash_backward, without a workspace.
void attention_short(const AttentionProblem<float>& problem,
                     const AttentionOutput<float>& output);
void attention_short_backward(const AttentionProblem<float>& problem,
                              const AttentionGradients<float>& gradients);

}  // namespace qkv::kernels
