#include "qkv/nn/attention.h"

#include "core/check.h"
#include "qkv/ops.h"

namespace qkv::nn {
namespace {

std::int64_t checked_heads(const char* module, std::int64_t embed_dim,
                           std::int64_t num_heads) {
  if (embed_dim < 1 || num_heads < 1)
    fail_input("[{}] embed_dim and num_heads must be at least 1, not {} and {}",
               module, embed_dim, num_heads);
  if (embed_dim % num_heads != 0)
    fail_input(
        "[{}] embed_dim must be divisible by num_heads, and {} is not by {}",
        module, embed_dim, num_heads);
  return num_heads;
}

void check_input(const char* module, const char* what, const Tensor& x,
                 std::int64_t width) {
  if (!x || x.rank() != 3 || x.dim(2) != width)
    fail_input("[{}] {} must be (batch,length,{}), not {}", module, what, width,
               x ? x.shape().str() : "undefined");
}

}  // namespace

SelfAttention::SelfAttention(std::int64_t embed_dim)
    : query(embed_dim, embed_dim),
      key(embed_dim, embed_dim),
      value(embed_dim, embed_dim) {
  add_module("query", query);
  add_module("key", key);
  add_module("value", value);
}

AttentionResult SelfAttention::forward(const Tensor& x,
                                       const AttentionOptions& options) const {
  check_input("SelfAttention", "x", x, query.weight.dim(1));
  const std::int64_t batch = x.dim(0), length = x.dim(1), width = x.dim(2);
  const auto one_head = [&](const Linear& linear) {
    return reshape(linear.forward(x), {batch, 1, length, width});
  };
  AttentionResult result =
      attention(one_head(query), one_head(key), one_head(value), options);
  result.output = reshape(result.output, {batch, length, width});
  if (result.weights)
    result.weights = reshape(result.weights, {batch, length, length});
  return result;
}

MultiHeadSelfAttention::MultiHeadSelfAttention(std::int64_t embed_dim,
                                               std::int64_t heads)
    : num_heads(checked_heads("MultiHeadSelfAttention", embed_dim, heads)),
      qkv(embed_dim, 3 * embed_dim),
      out_proj(embed_dim, embed_dim) {
  add_module("qkv", qkv);
  add_module("out_proj", out_proj);
}

AttentionResult MultiHeadSelfAttention::forward(
    const Tensor& x, const AttentionOptions& options) const {
  check_input("MultiHeadSelfAttention", "x", x, qkv.weight.dim(1));
  AttentionResult result = self_attention(qkv.forward(x), num_heads, options);
  result.output = out_proj.forward(result.output);
  return result;
}

CrossAttention::CrossAttention(std::int64_t embed_dim, std::int64_t heads)
    : CrossAttention(embed_dim, heads, embed_dim) {}

CrossAttention::CrossAttention(std::int64_t embed_dim, std::int64_t heads,
                               std::int64_t kv_dim)
    : num_heads(checked_heads("CrossAttention", embed_dim, heads)),
      query(embed_dim, embed_dim),
      kv(kv_dim, 2 * embed_dim),
      out_proj(embed_dim, embed_dim) {
  add_module("query", query);
  add_module("kv", kv);
  add_module("out_proj", out_proj);
}

AttentionResult CrossAttention::forward(const Tensor& x, const Tensor& memory,
                                        const AttentionOptions& options) const {
  check_input("CrossAttention", "x", x, query.weight.dim(1));
  check_input("CrossAttention", "memory", memory, kv.weight.dim(1));
  if (x.dim(0) != memory.dim(0))
    fail_input("[CrossAttention] x {} and memory {} differ in batch",
               x.shape().str(), memory.shape().str());
  AttentionResult result =
      cross_attention(query.forward(x), kv.forward(memory), num_heads, options);
  result.output = out_proj.forward(result.output);
  return result;
}

}  // namespace qkv::nn
