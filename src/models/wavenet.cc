// WaveNet-like: the context is put together two by two, level by level, as a
// tree; or, what comes to the same, by causal convolutions whose reach doubles.
#include <cmath>

#include "models/context_model.h"
#include "models/lecture_weights.h"
#include "models/windows.h"
#include "nn/group.h"

namespace qkv {
namespace {

enum class WaveNetForm { tree, dilated };

}  // namespace

template <>
struct EnumNames<WaveNetForm> {
  static constexpr std::string_view names[] = {"tree", "dilated"};
};

namespace {

struct WaveNetConfig {
  static constexpr std::string_view kind = "wavenet";
  std::int64_t vocab_size = 0;
  std::int64_t block_size = 64;
  std::int64_t n_level = 3;
  std::int64_t n_embd = 24;
  std::int64_t n_hidden = 128;
  bool batch_norm = true;
  WaveNetForm form = WaveNetForm::tree;
};

template <class Visitor>
void visit_fields(Visitor&& visit, WaveNetConfig& c) {
  visit_sequence(visit, c);
  visit(c.n_level,
        Field{"n_level", "levels; it sees 2 to their number tokens", 1, 16});
  visit(c.n_embd, Field{"n_embd", "width of an embedding", 1, kMost});
  visit(c.n_hidden, Field{"n_hidden", "width of a level", 1, kMost});
  visit(c.batch_norm,
        Field{"batch_norm", "batch normalisation before each tanh"});
  visit(c.form,
        Field{"form",
              "tree: each position by itself, as the lecture; dilated: all "
              "positions at once by convolutions"});
}

class WaveNet final : public ContextModel<WaveNetConfig, WaveNet> {
 public:
  static std::unique_ptr<WaveNet> create(const WaveNetConfig& config) {
    return drawn_as_the_lecture<WaveNet>(config);
  }

  explicit WaveNet(const WaveNetConfig& config)
      : ContextModel(config), wte_(config.vocab_size, config.n_embd) {
    add_module("wte", wte_);
    std::int64_t width = config.n_embd;
    for (std::int64_t l = 0; l < config.n_level; ++l) {
      levels_.push_back(std::make_unique<Level>(2 * width, config.n_hidden,
                                                config.batch_norm));
      stack_.add(std::to_string(l), *levels_.back());
      width = config.n_hidden;
    }
    add_module("level", stack_);
    lm_head_ = std::make_unique<nn::Linear>(width, config.vocab_size);
    add_module("lm_head", *lm_head_);
    set_head(*lm_head_);
  }

  // Weights (in,out) of normal numbers over √in, the head's a tenth of that;
  // biases 0.
  void draw_as_the_lecture() {
    nn::default_rng().randn(wte_.weight);
    const auto draw = [](nn::Linear& layer, double factor) {
      const auto in = static_cast<double>(layer.weight.dim(1));
      draw_weight(layer, factor / std::sqrt(in));
      if (layer.bias) layer.bias.fill(0);
    };
    for (const auto& level : levels_) draw(level->linear, 1);
    draw(*lm_head_, 0.1);
  }

  std::int64_t matmul_parameters() const override {
    const WaveNetConfig& c = config_;
    std::int64_t count = c.n_hidden * c.vocab_size;
    std::int64_t width = c.n_embd;
    for (std::int64_t l = 0; l < c.n_level; ++l) {
      // Of a tree, level l is computed 2^(levels-1-l) times a token.
      const std::int64_t times = c.form == WaveNetForm::tree
                                     ? std::int64_t{1} << (c.n_level - 1 - l)
                                     : 1;
      count += times * 2 * width * c.n_hidden;
      width = c.n_hidden;
    }
    return count;
  }

 protected:
  Tensor trunk(const Tensor& ids, std::int64_t count,
               Context& context) override {
    return config_.form == WaveNetForm::tree ? tree(ids, count, context)
                                             : dilated(ids, count, context);
  }

 private:
  struct Level : nn::Module {
    Level(std::int64_t in, std::int64_t out, bool with_norm)
        : linear(in, out, !with_norm) {
      add_module("linear", linear);
      if (!with_norm) return;
      norm = std::make_unique<nn::BatchNorm1d>(out);
      add_module("norm", *norm);
    }
    Tensor forward(const Tensor& pairs, const Context& context) {
      Tensor x = linear.forward(pairs);
      if (norm) x = norm->forward(x, context);
      return tanh(x);
    }
    nn::Linear linear;
    std::unique_ptr<nn::BatchNorm1d> norm;
  };

  std::int64_t context() const { return std::int64_t{1} << config_.n_level; }

  // Every position's own context, halved level by level.
  Tensor tree(const Tensor& ids, std::int64_t count, const Context& c) {
    const std::int64_t batch = ids.dim(0);
    Tensor x =
        wte_.forward(id_windows(ids, count, context(), 0, NewestAt::end));
    std::int64_t nodes = context();
    for (const auto& level : levels_) {
      nodes /= 2;
      x = level->forward(reshape(x, {batch * count, nodes, 2 * x.dim(-1)}), c);
    }
    return reshape(x, {batch, count, config_.n_hidden});
  }

  // Level l joins each position with the one 2^l before it.
  Tensor dilated(const Tensor& ids, std::int64_t count, const Context& c) {
    const std::int64_t reach = count + context() - 1;
    Tensor x = wte_.forward(reshape(id_windows(ids, 1, reach, 0, NewestAt::end),
                                    {ids.dim(0), reach}));
    std::int64_t distance = 1;
    for (const auto& level : levels_) {
      const std::int64_t length = x.dim(1);
      x = level->forward(concat({slice(x, 1, 0, length - distance),
                                 slice(x, 1, distance, length)},
                                2),
                         c);
      distance *= 2;
    }
    return x;
  }

  nn::Embedding wte_;
  std::vector<std::unique_ptr<Level>> levels_;
  nn::Group stack_;
  std::unique_ptr<nn::Linear> lm_head_;
};

const RegisterModel kWaveNet(
    WaveNet::described("the context joined two by two, level by level"));

}  // namespace
}  // namespace qkv
