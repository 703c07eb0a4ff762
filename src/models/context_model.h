// What the models of the course share: a trunk that computes every position
// from the ids before it, a linear head, and nothing kept between calls but
// ids.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/check.h"
#include "models/config_of.h"
#include "models/measured_memory.h"
#include "nn/tap.h"
#include "qkv/autograd.h"
#include "qkv/model.h"
#include "qkv/nn/layers.h"

namespace qkv {

// The last block_size ids of each slot.
class IdWindow final : public DecodeState {
 public:
  IdWindow(int slots, std::int64_t block) : ids_(slots), block_(block) {}
  int slots() const override { return static_cast<int>(ids_.size()); }
  std::int64_t length(int slot) const override {
    return std::ssize(ids_.at(slot));
  }
  void clear(int slot) override { ids_.at(slot).clear(); }

  // The slot's ids with `count` new ones, (1,T) i64.
  Tensor append(int slot, const std::int64_t* ids, std::int64_t count);

 private:
  std::vector<std::vector<std::int64_t>> ids_;
  std::int64_t block_;
};

// Runs `forward` on the whole window (1,W) of each row of ids by itself; it
// gives the new positions (1,T,V). How many rows share the call changes no bit.
Tensor with_window(const Tensor& ids, IdWindow& window,
                   const std::function<Tensor(const Tensor& whole)>& forward);

// The ids row-major, once they are (B,T) i64 with T within the context; else an
// error in the model's name.
Tensor checked_ids(std::string_view model, const Tensor& ids,
                   std::int64_t block);
// Throws unless targets are (B,S) i64 of the last S <= T positions of ids.
void check_targets(std::string_view model, const Tensor& ids,
                   const Tensor& targets);

// More of anything than a model has.
inline constexpr double kMost = 1 << 30;

// The fields that every configuration has.
template <class Visitor, class Config>
void visit_sequence(Visitor& visit, Config& c) {
  visit(c.vocab_size, Field{"vocab_size", "different tokens", 1, kMost});
  visit(c.block_size,
        Field{"block_size", "longest sequence, tokens", 1, kMost});
}

// ConfigOf's traits: a Model is made from its Config, or by its own create().
template <class Config, class Model>
struct ContextTraits {
  static constexpr std::string_view kind = Config::kind;
  static std::unique_ptr<LanguageModel> make(const Config& config) {
    if constexpr (requires { Model::create(config); })
      return Model::create(config);
    else
      return std::make_unique<Model>(config);
  }
};

// Config has kind, vocab_size and block_size; Model is the class that derives
// from this.
template <class Config, class Model>
class ContextModel : public LanguageModel {
  using Description = ConfigOf<Config, ContextTraits<Config, Model>>;

 public:
  // For RegisterModel.
  static ModelKind described(std::string_view help) {
    return {Config::kind, help, Description::defaults};
  }

  explicit ContextModel(const Config& config)
      : config_(config), description_(config) {}

  Tensor logits(const Tensor& given, Context& context) override {
    const Tensor ids = checked_ids(Config::kind, given, config_.block_size);
    const std::int64_t count = ids.dim(1);
    if (!context.state) return forward(ids, count, context);
    auto* window = dynamic_cast<IdWindow*>(context.state);
    if (!window)
      fail_input("[{}] the decode state is another model's", Config::kind);
    return with_window(ids, *window, [&](const Tensor& whole) {
      return forward(whole, count, context);
    });
  }
  Loss loss(const Tensor& given, const Tensor& targets,
            Context& context) override {
    const Tensor ids = checked_ids(Config::kind, given, config_.block_size);
    check_targets(Config::kind, ids, targets);
    if (!head_ || (context.tap && context.tap->wants({-1, "logits"})))
      return LanguageModel::loss(ids, targets, context);
    return head_loss(trunk(ids, targets.dim(1), context), head_->weight,
                     head_->bias, targets);
  }
  std::unique_ptr<DecodeState> new_state(int slots) override {
    return std::make_unique<IdWindow>(slots, config_.block_size);
  }
  const ModelConfig& config() const final { return description_; }
  std::int64_t vocab_size() const final { return config_.vocab_size; }
  std::int64_t block_size() const final { return config_.block_size; }
  double step_flops(std::int64_t batch, std::int64_t length) const override {
    return 6.0 * static_cast<double>(matmul_parameters() * batch * length);
  }
  double activation_bytes(std::int64_t batch, std::int64_t length) const final {
    return measured_activation_bytes(description_, batch, length);
  }

 protected:
  // ids (B,T) -> (B,count,D), what the head reads at the last `count`
  // positions; without a head the logits.
  virtual Tensor trunk(const Tensor& ids, std::int64_t count,
                       Context& context) = 0;
  // The derived class owns it.
  void set_head(const nn::Linear& head) { head_ = &head; }

  Tensor forward(const Tensor& ids, std::int64_t count, Context& context) {
    Tensor x = trunk(ids, count, context);
    if (head_) x = head_->forward(x, context);
    return nn::tapped(context, -1, "logits", std::move(x));
  }

  const Config config_;

 private:
  const Description description_;
  const nn::Linear* head_ = nullptr;
};

}  // namespace qkv
