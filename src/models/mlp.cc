// The MLP of Bengio et al. 2003: the embeddings of the last few tokens side by
// side, hidden layers of tanh, a head. It has a weight for each distance, and
// sees no further than its context.
#include <cmath>

#include "models/context_model.h"
#include "models/lecture_weights.h"
#include "models/windows.h"
#include "nn/group.h"

namespace qkv {
namespace {

enum class MlpStyle { makemore, lecture };

}  // namespace

template <>
struct EnumNames<MlpStyle> {
  static constexpr std::string_view names[] = {"makemore", "lecture"};
};

namespace {

struct MlpConfig {
  static constexpr std::string_view kind = "mlp";
  std::int64_t vocab_size = 0;
  std::int64_t block_size = 64;
  std::int64_t context = 0;
  std::int64_t n_embd = 64;
  std::int64_t n_hidden = 64;
  std::int64_t n_layer = 1;
  bool batch_norm = false;
  MlpStyle style = MlpStyle::makemore;
};

template <class Visitor>
void visit_fields(Visitor&& visit, MlpConfig& c) {
  visit_sequence(visit, c);
  visit(c.context, Field{"context", "tokens it sees, 0: block_size", 0, kMost});
  visit(c.n_embd, Field{"n_embd", "width of an embedding", 1, kMost});
  visit(c.n_hidden, Field{"n_hidden", "width of a hidden layer", 1, kMost});
  visit(c.n_layer, Field{"n_layer", "hidden layers", 1, 4096});
  visit(c.batch_norm,
        Field{"batch_norm", "batch normalisation before each tanh"});
  visit(c.style,
        Field{"style",
              "makemore: newest token first, a token of its own for what is "
              "not there, PyTorch's initial values; lecture: newest last, "
              "token 0, those of the lecture on BatchNorm"});
}

class Mlp final : public ContextModel<MlpConfig, Mlp> {
 public:
  static std::unique_ptr<Mlp> create(const MlpConfig& config) {
    if (config.style == MlpStyle::makemore)
      return std::make_unique<Mlp>(config);
    return drawn_as_the_lecture<Mlp>(config);
  }

  explicit Mlp(const MlpConfig& config)
      : ContextModel(config),
        context_(config.context > 0 ? config.context : config.block_size),
        wte_(config.vocab_size + (lecture() ? 0 : 1), config.n_embd) {
    add_module("wte", wte_);
    // Numbered as PyTorch's Sequential: linear, norm, tanh, …, linear.
    std::int64_t width = context_ * config.n_embd;
    int index = 0;
    for (std::int64_t l = 0; l < config.n_layer; ++l) {
      hidden_.push_back(std::make_unique<nn::Linear>(width, config.n_hidden,
                                                     !config.batch_norm));
      layers_.add(std::to_string(index++), *hidden_.back());
      if (config.batch_norm) {
        norms_.push_back(
            std::make_unique<nn::BatchNorm1d>(config.n_hidden, norm_options()));
        layers_.add(std::to_string(index++), *norms_.back());
      }
      ++index;  // tanh
      width = config.n_hidden;
    }
    head_ = std::make_unique<nn::Linear>(width, config.vocab_size);
    layers_.add(std::to_string(index), *head_);
    add_module("mlp", layers_);
    set_head(*head_);
  }

  // Weights (in,out) of normal numbers, hidden ones times gain/√in, the head's
  // times 0.01; biases 0.01 of normal numbers, the head's 0.
  void draw_as_the_lecture() {
    TorchRng& rng = nn::default_rng();
    NoGrad no_grad;
    rng.randn(wte_.weight);
    for (const auto& layer : hidden_) {
      const auto in = static_cast<double>(layer->weight.dim(1));
      draw_weight(*layer, (5.0 / 3) / std::sqrt(in));
      if (!layer->bias) continue;
      rng.randn(layer->bias);
      layer->bias.copy_from(scale(layer->bias, 0.01));
    }
    draw_weight(*head_, 0.01);
    rng.randn(head_->bias);  // drawn, and multiplied by 0
    head_->bias.fill(0);
  }

  std::int64_t matmul_parameters() const override {
    const MlpConfig& c = config_;
    return c.n_hidden *
           (context_ * c.n_embd + (c.n_layer - 1) * c.n_hidden + c.vocab_size);
  }

 protected:
  Tensor trunk(const Tensor& ids, std::int64_t count,
               Context& context) override {
    const Tensor seen = lecture()
                            ? id_windows(ids, count, context_, 0, NewestAt::end)
                            : id_windows(ids, count, context_,
                                         config_.vocab_size, NewestAt::front);
    Tensor x = reshape(wte_.forward(seen), {ids.dim(0), count, -1});
    for (std::size_t l = 0; l < hidden_.size(); ++l) {
      x = hidden_[l]->forward(x);
      if (config_.batch_norm) x = norms_[l]->forward(x, context);
      x = tanh(x);
    }
    return x;
  }

 private:
  bool lecture() const { return config_.style == MlpStyle::lecture; }

  nn::BatchNormOptions norm_options() const {
    if (!lecture()) return {};
    return {.eps = 0, .momentum = 0.001, .by_deviation = true};
  }

  std::int64_t context_;
  nn::Embedding wte_;
  std::vector<std::unique_ptr<nn::Linear>> hidden_;
  std::vector<std::unique_ptr<nn::BatchNorm1d>> norms_;
  std::unique_ptr<nn::Linear> head_;
  nn::Group layers_;
};

const RegisterModel kMlp(
    Mlp::described("embeddings of the last tokens through layers of "
                   "tanh"));

}  // namespace
}  // namespace qkv
