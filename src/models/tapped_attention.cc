#include "models/tapped_attention.h"

#include "qkv/ops.h"

namespace qkv {
namespace {

// (B,T,3·D) read as (B,T,3,H,d): the values -> (B,H,T,d).
Tensor values_of(const Tensor& qkv, std::int64_t heads) {
  const std::int64_t batch = qkv.dim(0), length = qkv.dim(1);
  const std::int64_t width = qkv.dim(2) / 3;
  const Tensor values = slice(qkv, 2, 2 * width, 3 * width);
  return transpose(reshape(values, {batch, length, heads, width / heads}), 1,
                   2);
}

}  // namespace

Tensor join_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

Tensor tapped_self_attention(const Tensor& qkv, std::int64_t heads,
                             AttentionOptions options, int layer,
                             const Context& context) {
  const Site site{layer, "attn.weights"};
  if (!context.tap || !context.tap->wants(site))
    return self_attention(qkv, heads, options).output;
  options.want_weights = WantWeights::all();
  AttentionResult result = self_attention(qkv, heads, options);
  Tensor weights = context.tap->at(site, result.weights);
  if (weights.same_storage(result.weights)) return result.output;
  if (options.dropout > 0)
    weights = dropout(weights, options.dropout, *options.rng, options.stream);
  return join_heads(matmul(weights, values_of(qkv, heads)));
}

}  // namespace qkv
