// The way from one attention head to a transformer, as the GPT lecture walks
// it: one head, several, a feed-forward part, residuals, norms; each a switch.
#include "models/context_model.h"
#include "models/tapped_attention.h"
#include "nn/group.h"

namespace qkv {
namespace {

struct HeadsConfig {
  static constexpr std::string_view kind = "heads";
  std::int64_t vocab_size = 0;
  std::int64_t block_size = 64;
  std::int64_t n_layer = 1;
  std::int64_t n_head = 1;
  std::int64_t n_embd = 32;
  std::int64_t feed_forward = 0;
  bool residual = false;
  bool norm = false;
};

template <class Visitor>
void visit_fields(Visitor&& visit, HeadsConfig& c) {
  visit_sequence(visit, c);
  visit(c.n_layer, Field{"n_layer", "blocks", 1, 4096});
  visit(c.n_head, Field{"n_head", "attention heads a block", 1, kMost});
  visit(c.n_embd,
        Field{"n_embd", "model width, a multiple of the heads", 1, kMost});
  visit(
      c.feed_forward,
      Field{"feed_forward",
            "width of the feed-forward part, in model widths; 0: none", 0, 64});
  visit(c.residual,
        Field{"residual", "a block adds to its input, through projections"});
  visit(c.norm, Field{"norm", "layer norms before each part and at the end"});
}

class AttentionBlock : public nn::Module {
 public:
  explicit AttentionBlock(const HeadsConfig& c)
      : config_(c), c_attn_(c.n_embd, 3 * c.n_embd, /*bias=*/false) {
    const std::int64_t d = c.n_embd, wide = c.feed_forward * d;
    add_module("c_attn", c_attn_);
    if (c.residual) add("c_proj", c_proj_, d, d);
    if (wide > 0) add("c_fc", c_fc_, d, wide);
    if (wide > 0 && c.residual) add("c_back", c_back_, wide, d);
    if (!c.norm) return;
    add_norm("ln_1", ln_1_);
    if (wide > 0) add_norm("ln_2", ln_2_);
  }

  Tensor forward(const Tensor& input, int layer, const Context& context) const {
    Tensor x = attend(nn::tapped(context, layer, "attn.in",
                                 ln_1_ ? ln_1_->forward(input) : input),
                      layer, context);
    if (config_.residual) x = qkv::add(input, c_proj_->forward(x));
    if (!c_fc_) return x;
    const Tensor fed = relu(c_fc_->forward(ln_2_ ? ln_2_->forward(x) : x));
    return config_.residual ? qkv::add(x, c_back_->forward(fed)) : fed;
  }

  // Numbers that a token is multiplied with.
  std::int64_t matmul_parameters() const {
    std::int64_t count = 0;
    for (const nn::NamedTensor& p : parameters())
      if (p.tensor.rank() == 2) count += p.tensor.numel();
    return count;
  }

 private:
  void add(const char* name, std::unique_ptr<nn::Linear>& linear,
           std::int64_t in, std::int64_t out) {
    linear = std::make_unique<nn::Linear>(in, out);
    add_module(name, *linear);
  }
  void add_norm(const char* name, std::unique_ptr<nn::LayerNorm>& norm) {
    norm = std::make_unique<nn::LayerNorm>(config_.n_embd);
    add_module(name, *norm);
  }
  Tensor attend(const Tensor& x, int layer, const Context& context) const {
    const Tensor qkv =
        nn::tapped(context, layer, "attn.qkv", c_attn_.forward(x, context));
    return nn::tapped(
        context, layer, "attn.z",
        tapped_self_attention(qkv, config_.n_head, {.mask = Mask::causal()},
                              layer, context));
  }

  HeadsConfig config_;
  nn::Linear c_attn_;
  std::unique_ptr<nn::Linear> c_proj_, c_fc_, c_back_;
  std::unique_ptr<nn::LayerNorm> ln_1_, ln_2_;
};

class Heads final : public ContextModel<HeadsConfig, Heads> {
 public:
  static std::unique_ptr<Heads> create(const HeadsConfig& config) {
    if (config.n_embd % config.n_head != 0)
      fail_input(
          "n_head must divide n_embd: {} heads do not divide a width of {}",
          config.n_head, config.n_embd);
    if (!config.residual && config.feed_forward > 1 && config.n_layer > 1)
      fail_input(
          "feed_forward {} without residual does not lead back to the width "
          "of a next block: use n_layer 1, or residual",
          config.feed_forward);
    return std::make_unique<Heads>(config);
  }

  explicit Heads(const HeadsConfig& config)
      : ContextModel(config),
        wte_(config.vocab_size, config.n_embd),
        wpe_(config.block_size, config.n_embd) {
    add_module("wte", wte_);
    add_module("wpe", wpe_);
    for (std::int64_t l = 0; l < config.n_layer; ++l) {
      blocks_.push_back(std::make_unique<AttentionBlock>(config));
      stack_.add(std::to_string(l), *blocks_.back());
    }
    add_module("h", stack_);
    if (config.norm) {
      ln_f_ = std::make_unique<nn::LayerNorm>(config.n_embd);
      add_module("ln_f", *ln_f_);
    }
    // Without a feed-forward part that leads back, its width is the last one.
    const std::int64_t width = config.residual || config.feed_forward == 0
                                   ? config.n_embd
                                   : config.feed_forward * config.n_embd;
    lm_head_ = std::make_unique<nn::Linear>(width, config.vocab_size);
    add_module("lm_head", *lm_head_);
    set_head(*lm_head_);
  }

  std::int64_t matmul_parameters() const override {
    std::int64_t count = lm_head_->weight.numel();
    for (const auto& block : blocks_) count += block->matmul_parameters();
    return count;
  }
  double step_flops(std::int64_t batch, std::int64_t length) const override {
    const double b = static_cast<double>(batch),
                 t = static_cast<double>(length);
    return ContextModel::step_flops(batch, length) +
           7 * b * t * t * static_cast<double>(config_.n_embd) *
               static_cast<double>(config_.n_layer);
  }

 protected:
  Tensor trunk(const Tensor& ids, std::int64_t count,
               Context& context) override {
    const std::int64_t length = ids.dim(1);
    Tensor x = add(wte_.forward(ids), slice(wpe_.weight, 0, 0, length));
    int layer = 0;
    for (const auto& block : blocks_) x = block->forward(x, layer++, context);
    if (ln_f_) x = ln_f_->forward(x);
    return slice(x, 1, length - count, length);
  }

 private:
  nn::Embedding wte_, wpe_;
  std::vector<std::unique_ptr<AttentionBlock>> blocks_;
  nn::Group stack_;
  std::unique_ptr<nn::LayerNorm> ln_f_;
  std::unique_ptr<nn::Linear> lm_head_;
};

const RegisterModel kHeads(
    Heads::described("from one attention head to a transformer, by switches"));

}  // namespace
}  // namespace qkv
