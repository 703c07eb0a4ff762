#include "qkv/nn/block.h"

#include "nn/fused_in.h"
#include "qkv/ops.h"

namespace qkv::nn {

TinyGPTBlock::FeedForward::FeedForward(std::int64_t width, std::int64_t hidden)
    : in(width, hidden), out(hidden, width) {
  add_module("0", in);  // 1 is the ReLU
  add_module("2", out);
}

TinyGPTBlock::TinyGPTBlock(std::int64_t embed_dim, std::int64_t num_heads,
                           std::int64_t ff_hidden)
    : ln1(embed_dim),
      attn(embed_dim, num_heads),
      ln2(embed_dim),
      ff(embed_dim, ff_hidden) {
  add_module("ln1", ln1);
  add_module("attn", attn);
  add_module("ln2", ln2);
  add_module("ff", ff);
}

AttentionResult TinyGPTBlock::forward(const Tensor& x,
                                      const AttentionOptions& options) const {
  AttentionResult result =
      self_attention(norm_linear(x, weights_of(ln1), weights_of(attn.qkv)),
                     attn.num_heads, options);
  const Tensor middle =
      linear_residual(result.output, weights_of(attn.out_proj), {}, x);
  const Tensor hidden = norm_linear(middle, weights_of(ln2), weights_of(ff.in));
  result.output = activation_linear_residual(kernels::Activation::relu, hidden,
                                             weights_of(ff.out), {}, middle);
  return result;
}

}  // namespace qkv::nn
