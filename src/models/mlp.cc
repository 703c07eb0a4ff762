// The MLP of Bengio et al. 2003: the embeddings of the last few tokens side by
// side, hidden layers of tanh, a head. It has a weight for each distance, and
// sees no further than its context.
#include <cmath>

#include "models/context_model.h"
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
  constexpr double kMany = 1 << 30;
  visit(c.vocab_size, Field{"vocab_size", "different tokens", 1, kMany});
  visit(c.block_size,
        Field{"block_size", "longest sequence, tokens", 1, kMany});
  visit(c.context, Field{"context", "tokens it sees, 0: block_size", 0, kMany});
  visit(c.n_embd, Field{"n_embd", "width of an embedding", 1, kMany});
  visit(c.n_hidden, Field{"n_hidden", "width of a hidden layer", 1, kMany});
  visit(c.n_layer, Field{"n_layer", "hidden layers", 1, 4096});
  visit(c.batch_norm,
        Field{"batch_norm", "batch normalisation before each tanh"});
  visit(c.style,
        Field{"style",
              "makemore: newest token first, a token of its own for what is "
              "not there, PyTorch's initial values; lecture: newest last, "
              "token 0, those of the lecture on BatchNorm"});
}

struct MlpTraits {
  static constexpr std::string_view kind = "mlp";
  static std::unique_ptr<LanguageModel> make(const MlpConfig& config);
};

class Mlp final : public ContextModel<MlpConfig, MlpTraits> {
 public:
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
    const auto draw = [&](nn::Linear& layer, double factor, double bias) {
      Tensor w = Tensor::empty({layer.weight.dim(1), layer.weight.dim(0)});
      rng.randn(w);
      NoGrad no_grad;
      layer.weight.copy_from(transpose(scale(w, factor), 0, 1));
      if (!layer.bias) return;
      rng.randn(layer.bias);
      layer.bias.copy_from(scale(layer.bias, bias));
    };
    rng.randn(wte_.weight);
    for (const auto& layer : hidden_) {
      const auto in = static_cast<double>(layer->weight.dim(1));
      draw(*layer, (5.0 / 3) / std::sqrt(in), 0.01);
    }
    draw(*head_, 0.01, 0);
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

std::unique_ptr<LanguageModel> MlpTraits::make(const MlpConfig& config) {
  if (config.style == MlpStyle::makemore || nn::SkipInit::active())
    return std::make_unique<Mlp>(config);
  // The lecture's generator gives its own draws and no others.
  const nn::SkipInit skip;
  auto model = std::make_unique<Mlp>(config);
  model->draw_as_the_lecture();
  return model;
}

const RegisterModel kMlp({MlpTraits::kind,
                          "embeddings of the last tokens through layers of "
                          "tanh",
                          ConfigOf<MlpConfig, MlpTraits>::defaults});

}  // namespace
}  // namespace qkv
