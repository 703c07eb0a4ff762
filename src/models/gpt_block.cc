#include "models/gpt_block.h"

#include "core/check.h"
#include "core/tensor_impl.h"
#include "models/tapped_attention.h"
#include "nn/fused_in.h"
#include "nn/tap.h"
#include "qkv/attention.h"
#include "qkv/autograd.h"

namespace qkv {
namespace {

nn::ActivationPair pair_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return {relu, kernels::Activation::relu};
    case Activation::gelu_tanh:
      return {gelu_tanh, kernels::Activation::gelu_tanh};
    case Activation::gelu_erf:
      return {gelu_erf, kernels::Activation::gelu_erf};
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

Tensor GptAttention::forward(const Tensor& x, const nn::LayerNorm& norm,
                             int layer, const CacheView& cache,
                             Context& context) {
  const Tensor qkv = nn::tapped(
      context, layer, "attn.qkv",
      nn::norm_linear_in(context, layer, "attn.in", norm, c_attn_, x));
  Tensor z =
      cache.layer ? attend_cached(qkv, cache) : attend(qkv, layer, context);
  z = nn::tapped(context, layer, "attn.z", std::move(z));
  return nn::linear_residual_in(context, layer, "attn.out", c_proj_,
                                resid_dropout_, z, x);
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

Tensor GptMlp::forward(const Tensor& x, const nn::LayerNorm& norm, int layer,
                       Context& context) {
  const Tensor h =
      nn::tapped(context, layer, "mlp.pre",
                 nn::norm_linear_in(context, layer, "mlp.in", norm, c_fc_, x));
  return nn::activation_linear_residual_in(context, layer, "mlp.post",
                                           "mlp.out", pair_of(activation_),
                                           c_proj_, dropout_, h, x);
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
  x = nn::tapped(context, layer, "resid_mid",
                 attn_.forward(x, ln_1_, layer, cache, context));
  return nn::tapped(context, layer, "resid_post",
                    mlp_.forward(x, ln_2_, layer, context));
}

}  // namespace qkv
