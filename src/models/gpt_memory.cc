#include "models/gpt_memory.h"

#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "ops/head_loss.h"

namespace qkv {

double gpt_activation_bytes(const GptConfig& c, std::int64_t batch,
                            std::int64_t length) {
  const std::int64_t tokens = batch * length;
  const auto t = static_cast<double>(tokens);
  const auto d = static_cast<double>(c.n_embd);
  const auto v = static_cast<double>(c.vocab_size);
  const auto layers = static_cast<double>(c.n_layer);

  // Numbers that a block keeps for its backward: its input, the packed
  // projection, the attention's output, the middle sum, and the wide part
  // before its activation; two a norm, two a head.
  const double block = t * (10 * d + 4 + 2 * static_cast<double>(c.n_head));
  const double block_gradients = 12 * d * d;
  const double table = v * d;
  const double all_gradients = layers * block_gradients +
                               (c.tied_head ? 1 : 2) * table +
                               static_cast<double>(c.block_size) * d;

  // At the head: everything is kept; a chunk of logits, the last norm's output
  // and its gradient come on top.
  const double chunk =
      static_cast<double>(std::min(head_loss_chunk(c.vocab_size), tokens)) * v;
  double peak = layers * block + chunk + 3 * t * d + table;

  // In the backward of the feed-forward part of each block, last block first:
  // the blocks before it are kept, the gradients of those after it are there.
  // The wide part after its activation is made again, and its gradient stands
  // beside it; the residual's gradient waits, and its dropout drawn again.
  const auto workspace = static_cast<double>(kernels::gemm_workspace<float>(
      {.trans_a = true, .m = c.n_embd, .n = 4 * c.n_embd, .k = tokens}));
  const double wide = (c.resid_dropout > 0 ? 10 : 9) * t * d;
  for (std::int64_t l = c.n_layer - 1; l >= 0; --l) {
    const double after = static_cast<double>(c.n_layer - 1 - l);
    peak =
        std::max(peak, static_cast<double>(l + 1) * block + wide + workspace +
                           table + after * block_gradients + 4 * d * d);
  }

  // At the end: all gradients, and for a tied table a second one to add.
  peak = std::max(peak, all_gradients + t * d + (c.tied_head ? table : 0));
  return sizeof(float) * std::max(peak - all_gradients, 0.0);
}

}  // namespace qkv
