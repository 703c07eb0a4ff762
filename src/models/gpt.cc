// The GPT: ids -> token + position embedding -> blocks -> norm -> head.
#include <cmath>
#include <memory>
#include <vector>

#include "core/check.h"
#include "core/tensor_impl.h"
#include "models/config_of.h"
#include "models/gpt_block.h"
#include "models/gpt_memory.h"
#include "nn/group.h"
#include "nn/linear_in.h"
#include "nn/tap.h"
#include "qkv/autograd.h"
#include "qkv/model.h"
#include "qkv/nn/layers.h"

namespace qkv {
namespace {

// The key/value cache: one tensor a layer.
class GptState final : public DecodeState {
 public:
  GptState(const GptConfig& config, int slots, DType dtype)
      : lengths_(slots, 0), block_(config.block_size) {
    for (std::int64_t l = 0; l < config.n_layer; ++l)
      layers_.push_back({Tensor::zeros(
          {slots, block_, 2, config.n_head, config.n_embd / config.n_head},
          dtype)});
  }
  int slots() const override { return static_cast<int>(lengths_.size()); }
  std::int64_t length(int slot) const override { return lengths_.at(slot); }
  void clear(int slot) override { lengths_.at(slot) = 0; }

  // Checks the call, and gathers the lengths of the active slots.
  std::vector<std::int64_t> begin(std::int64_t rows, std::int64_t tokens) {
    if (rows != static_cast<std::int64_t>(active.size()))
      fail_input("[gpt] {} rows of ids for {} active slots", rows,
                 active.size());
    std::vector<std::int64_t> lengths;
    for (int slot : active) {
      if (slot < 0 || slot >= slots())
        fail_input("[gpt] slot {} does not exist: there are {}", slot, slots());
      if (lengths_[slot] + tokens > block_)
        fail_input(
            "[gpt] slot {} holds {} tokens, {} more do not fit its context "
            "of {}",
            slot, lengths_[slot], tokens, block_);
      lengths.push_back(lengths_[slot]);
    }
    return lengths;
  }
  void end(std::int64_t tokens) {
    for (int slot : active) lengths_[slot] += tokens;
  }
  LayerCache& layer(int i) { return layers_[i]; }

 private:
  std::vector<LayerCache> layers_;
  std::vector<std::int64_t> lengths_;
  std::int64_t block_;
};

struct GptTraits {
  static constexpr std::string_view kind = "gpt";
  static std::unique_ptr<LanguageModel> make(const GptConfig& config) {
    return make_gpt(config);
  }
};
using GptDescription = ConfigOf<GptConfig, GptTraits>;
const RegisterModel kGpt({GptTraits::kind,
                          "transformer decoder: attention over all that came "
                          "before",
                          GptDescription::defaults});

class Gpt final : public LanguageModel {
 public:
  explicit Gpt(const GptConfig& config)
      : config_(config),
        description_(config),
        wte_(config.vocab_size, config.n_embd),
        wpe_(config.block_size, config.n_embd),
        dropout_(config.embd_dropout),
        ln_f_(config.n_embd, config.biases != Biases::none) {
    for (std::int64_t l = 0; l < config.n_layer; ++l)
      blocks_.push_back(std::make_unique<GptBlock>(config));
    transformer_.add("wte", wte_);
    transformer_.add("wpe", wpe_);
    transformer_.add("drop", dropout_);
    for (std::size_t l = 0; l < blocks_.size(); ++l)
      transformer_.add("h." + std::to_string(l), *blocks_[l]);
    transformer_.add("ln_f", ln_f_);
    add_module("transformer", transformer_);
    if (config.tied_head) {
      head_weight_ = wte_.weight;
      tie_parameter("lm_head.weight", head_weight_);
    } else {
      head_ = std::make_unique<nn::Linear>(config.n_embd, config.vocab_size,
                                           config.head_bias);
      add_module("lm_head", *head_);
      head_weight_ = head_->weight;
      head_bias_ = head_->bias;
    }
    if (config.init != Init::torch_default && !nn::SkipInit::active())
      draw_normal();
  }

  Tensor logits(const Tensor& ids, Context& context) override {
    const Tensor x = trunk(ids, context);
    return nn::tapped(
        context, -1, "logits",
        nn::linear_in(context, x.dim(1), x, head_weight_, head_bias_));
  }

  Loss loss(const Tensor& ids, const Tensor& targets,
            Context& context) override {
    if (context.tap && context.tap->wants({-1, "logits"}))
      return LanguageModel::loss(ids, targets, context);
    const std::int64_t length = ids.dim(1);
    return head_loss(
        slice(trunk(ids, context), 1, length - targets.dim(1), length),
        head_weight_, head_bias_, targets);
  }

  std::unique_ptr<DecodeState> new_state(int slots) override {
    return std::make_unique<GptState>(config_, slots, wte_.weight.dtype());
  }

  const ModelConfig& config() const override { return description_; }
  std::int64_t vocab_size() const override { return config_.vocab_size; }
  std::int64_t block_size() const override { return config_.block_size; }

  std::int64_t matmul_parameters() const override {
    const std::int64_t d = config_.n_embd;
    return config_.n_layer * 12 * d * d + d * config_.vocab_size;
  }

  double step_flops(std::int64_t batch, std::int64_t length) const override {
    const double b = static_cast<double>(batch),
                 t = static_cast<double>(length);
    // Forward 2·B·H·T·T·d = 2·B·T·T·D on the visible half, backward 2.5 times.
    const double attention = 3.5 * 2 * b * t * t *
                             static_cast<double>(config_.n_embd) *
                             static_cast<double>(config_.n_layer);
    return 6 * static_cast<double>(matmul_parameters()) * b * t + attention;
  }

  double activation_bytes(std::int64_t batch,
                          std::int64_t length) const override {
    return gpt_activation_bytes(config_, batch, length);
  }

 private:
  void draw_normal() {
    const double residual =
        config_.init == Init::gpt2
            ? 0.02 / std::sqrt(2.0 * static_cast<double>(config_.n_layer))
            : 0.02;
    for (nn::NamedTensor& p : parameters()) {
      if (p.name == "lm_head.weight" && config_.tied_head) continue;
      const bool norm = p.name.find("ln_") != std::string::npos;
      if (norm) continue;
      if (p.name.ends_with("bias"))
        p.tensor.fill(0);
      else
        nn::default_rng().normal(
            p.tensor, 0, p.name.ends_with("c_proj.weight") ? residual : 0.02);
    }
  }

  // ids (B,T) -> (B,T,D), after the last norm.
  Tensor trunk(const Tensor& ids, Context& context) {
    if (ids.rank() != 2 || ids.dtype() != DType::i64)
      fail_input("[gpt] ids are (B,T) i64, not {} {}", ids.shape().str(),
                 name_of(ids.dtype()));
    const std::int64_t batch = ids.dim(0), length = ids.dim(1);
    GptState* state = nullptr;
    if (context.state) {
      state = dynamic_cast<GptState*>(context.state);
      if (!state) fail_input("[gpt] the decode state is another model's");
    } else if (length > config_.block_size) {
      fail_input("[gpt] {} tokens do not fit the context of {}", length,
                 config_.block_size);
    }
    std::vector<std::int64_t> lengths;
    if (state) lengths = state->begin(batch, length);

    Tensor x = add(wte_.forward(ids), positions(batch, length, lengths));
    x = nn::tapped(context, -1, "embed", dropout_.forward(x, context));
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      const int layer = static_cast<int>(l);
      CacheView cache;
      if (state) cache = {&state->layer(layer), state->active, lengths};
      x = blocks_[l]->forward(x, layer, cache, context);
    }
    if (state) state->end(length);
    return nn::tapped(context, -1, "ln_f", ln_f_.forward(x));
  }

  // Rows of wpe: (T,D) for all alike, (B,T,D) where sequences differ in length.
  Tensor positions(std::int64_t batch, std::int64_t length,
                   const std::vector<std::int64_t>& lengths) {
    if (lengths.empty()) return slice(wpe_.weight, 0, 0, length);
    Tensor at = Tensor::empty({batch, length}, DType::i64);
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t t = 0; t < length; ++t)
        at.data<std::int64_t>()[b * length + t] = lengths[b] + t;
    return wpe_.forward(at);
  }

  GptConfig config_;
  GptDescription description_;
  nn::Group transformer_;
  nn::Embedding wte_, wpe_;
  nn::Dropout dropout_;
  std::vector<std::unique_ptr<GptBlock>> blocks_;
  nn::LayerNorm ln_f_;
  std::unique_ptr<nn::Linear> head_;  // none when tied
  Tensor head_weight_, head_bias_;
};

}  // namespace

void validate(const GptConfig& c) {
  const auto at_least = [](std::string_view name, std::int64_t value,
                           std::int64_t least) {
    if (value < least)
      fail_input("{} must be at least {}, not {}", name, least, value);
  };
  at_least("vocab_size", c.vocab_size, 1);
  at_least("block_size", c.block_size, 1);
  at_least("n_layer", c.n_layer, 0);
  at_least("n_head", c.n_head, 1);
  at_least("n_embd", c.n_embd, 1);
  if (c.n_embd % c.n_head != 0)
    fail_input(
        "n_head must divide n_embd: {} heads do not divide a width of {}",
        c.n_head, c.n_embd);
  if (c.tied_head && c.head_bias)
    fail_input("head_bias and tied_head exclude each other");
  const auto probability = [](std::string_view name, double p) {
    if (!(p >= 0 && p < 1))
      fail_input("{} must be at least 0 and below 1, not {}", name, p);
  };
  probability("embd_dropout", c.embd_dropout);
  probability("attn_dropout", c.attn_dropout);
  probability("resid_dropout", c.resid_dropout);
}

std::unique_ptr<LanguageModel> make_gpt(const GptConfig& config) {
  validate(config);
  return std::make_unique<Gpt>(config);
}

}  // namespace qkv
