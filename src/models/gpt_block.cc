#include "models/gpt_block.h"

#include "core/check.h"
#include "core/tensor_impl.h"
#include "models/tapped_attention.h"
#include "nn/tap.h"
#include "qkv/attention.h"
#include "qkv/autograd.h"

namespace qkv {
namespace {

Tensor activate(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    case Activation::gelu_erf:
      return gelu_erf(x);
  }
  fail_internal("unknown activation");
}

}  // namespace

GptAttention::GptAttention(const GptConfig& config)
    : heads_(config.n_head),
      dropout_(config.attn_dropout),
      c_attn_(config.n_embd, 3 * config.n_embd, config.biases == Biases::all),
      c_proj_(config.n_embd, config.n_embd, config.biases != Biases::none),
      resid_dropout_(config.resid_dropout) {
  add_module("c_attn", c_attn_);
  add_module("c_proj", c_proj_);
  add_module("resid_dropout", resid_dropout_);
}

Tensor GptAttention::forward(const Tensor& x, int layer, const CacheView& cache,
                             Context& context) {
  const Tensor qkv =
      nn::tapped(context, layer, "attn.qkv", c_attn_.forward(x, context));
  Tensor z =
      cache.layer ? attend_cached(qkv, cache) : attend(qkv, layer, context);
  z = nn::tapped(context, layer, "attn.z", std::move(z));
  return resid_dropout_.forward(c_proj_.forward(z, context), context);
}

Tensor GptAttention::attend(const Tensor& qkv, int layer, Context& context) {
  AttentionOptions options;
  options.mask = Mask::causal();
  if (context.training && dropout_ > 0) {
    if (!context.rng)
      fail_input("[attention] training with dropout needs Context::rng");
    options.dropout = dropout_;
    options.rng = *context.rng;
    options.stream = stream();
  }
  return tapped_self_attention(qkv, heads_, options, layer, context);
}

Tensor GptAttention::attend_cached(const Tensor& qkv, const CacheView& cache) {
  const std::int64_t batch = qkv.dim(0), length = qkv.dim(1);
  const std::int64_t width = qkv.dim(2) / 3;
  AttentionOptions options;
  options.mask = Mask::causal();
  Tensor out = Tensor::empty({batch, length, width}, qkv.dtype());
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t slot = cache.slots[b], past = cache.lengths[b];
    // (block, 2, H, d) of this slot, and its first past + length rows.
    Tensor kept = reshape(slice(cache.layer->keys_values, 0, slot, slot + 1),
                          cache.layer->keys_values.shape().without(0));
    const Tensor fresh =
        reshape(slice(qkv, 0, b, b + 1), {length, 3, heads_, width / heads_});
    slice(kept, 0, past, past + length).copy_from(slice(fresh, 1, 1, 3));
    const Tensor known = slice(kept, 0, 0, past + length);
    const auto head_view = [&](const Tensor& rows, int part) {
      Tensor view = slice(rows, 1, part, part + 1);   // (rows, 1, H, d)
      return transpose(transpose(view, 0, 1), 1, 2);  // (1, H, rows, d)
    };
    const Tensor z = attention(head_view(fresh, 0), head_view(known, 0),
                               head_view(known, 1), options)
                         .output;
    slice(out, 0, b, b + 1).copy_from(join_heads(z));
  }
  return out;
}

GptMlp::GptMlp(const GptConfig& config)
    : activation_(config.activation),
      c_fc_(config.n_embd, 4 * config.n_embd, config.biases != Biases::none),
      c_proj_(4 * config.n_embd, config.n_embd, config.biases != Biases::none),
      dropout_(config.resid_dropout) {
  add_module("c_fc", c_fc_);
  add_module("c_proj", c_proj_);
  add_module("dropout", dropout_);
}

Tensor GptMlp::forward(const Tensor& x, int layer, Context& context) {
  Tensor h = nn::tapped(context, layer, "mlp.pre", c_fc_.forward(x, context));
  h = nn::tapped(context, layer, "mlp.post", activate(activation_, h));
  return dropout_.forward(c_proj_.forward(h, context), context);
}

GptBlock::GptBlock(const GptConfig& config)
    : ln_1_(config.n_embd, config.biases != Biases::none),
      attn_(config),
      ln_2_(config.n_embd, config.biases != Biases::none),
      mlp_(config) {
  add_module("ln_1", ln_1_);
  add_module("attn", attn_);
  add_module("ln_2", ln_2_);
  add_module("mlp", mlp_);
}

Tensor GptBlock::forward(const Tensor& input, int layer, const CacheView& cache,
                         Context& context) {
  Tensor x = nn::tapped(context, layer, "resid_pre", input);
  Tensor attended =
      attn_.forward(nn::tapped(context, layer, "attn.in", ln_1_.forward(x)),
                    layer, cache, context);
  attended = nn::tapped(context, layer, "attn.out", std::move(attended));
  x = nn::tapped(context, layer, "resid_mid", add(x, attended));
  Tensor fed = mlp_.forward(
      nn::tapped(context, layer, "mlp.in", ln_2_.forward(x)), layer, context);
  fed = nn::tapped(context, layer, "mlp.out", std::move(fed));
  return nn::tapped(context, layer, "resid_post", add(x, fed));
}

}  // namespace qkv
