// The bigram by counting: how often each token follows each other one. It is
// what the network of bigram.cc comes to, found in one pass.
#include <cmath>

#include "models/context_model.h"

namespace qkv {
namespace {

struct CountsConfig {
  std::int64_t vocab_size = 0;
  std::int64_t block_size = 64;
  double smoothing = 1;
};

template <class Visitor>
void visit_fields(Visitor&& visit, CountsConfig& c) {
  constexpr double kMany = 1 << 30;
  visit(c.vocab_size, Field{"vocab_size", "different tokens", 1, kMany});
  visit(c.block_size, Field{"block_size", "tokens of a sequence", 1, kMany});
  visit(c.smoothing, Field{"smoothing",
                           "added to every count, so that no pair is "
                           "impossible",
                           0, 1e9});
}

struct CountsTraits {
  static constexpr std::string_view kind = "counts";
  static std::unique_ptr<LanguageModel> make(const CountsConfig& config);
};

class Counts final : public ContextModel<CountsConfig, CountsTraits> {
 public:
  explicit Counts(const CountsConfig& config) : ContextModel(config) {
    counts_ = add_buffer(
        "counts",
        Tensor::zeros({config.vocab_size, config.vocab_size}, DType::i64));
  }
  std::int64_t matmul_parameters() const override { return 0; }
  bool learns_by_counting() const override { return true; }

  void count(const Tensor& ids, const Tensor& targets) override {
    const std::int64_t length = ids.dim(1), asked = targets.dim(1);
    const std::int64_t vocab = config_.vocab_size;
    const auto* id = ids.data<std::int64_t>();
    const auto* target = targets.data<std::int64_t>();
    for (std::int64_t row = 0; row < ids.dim(0); ++row)
      for (std::int64_t i = 0; i < asked; ++i)
        if (const std::int64_t next = target[row * asked + i]; next != kIgnore)
          ++counts_.data<std::int64_t>()[id[row * length + length - asked + i] *
                                             vocab +
                                         next];
    table_ = Tensor();
  }

 protected:
  Tensor trunk(const Tensor& ids, std::int64_t count, Context&) override {
    if (!table_) table_ = log_probabilities();
    return embedding(table_, slice(ids, 1, ids.dim(1) - count, ids.dim(1)));
  }

 private:
  // log((N + smoothing) / Σ(N + smoothing)) of each row; a token that nothing
  // followed, without smoothing, leaves all alike.
  Tensor log_probabilities() const {
    const std::int64_t vocab = config_.vocab_size;
    Tensor table = Tensor::empty({vocab, vocab});
    for (std::int64_t row = 0; row < vocab; ++row) {
      const auto* n = counts_.data<std::int64_t>() + row * vocab;
      double sum = 0;
      for (std::int64_t i = 0; i < vocab; ++i)
        sum += static_cast<double>(n[i]) + config_.smoothing;
      for (std::int64_t i = 0; i < vocab; ++i)
        table.data<float>()[row * vocab + i] =
            sum > 0
                ? static_cast<float>(std::log(
                      (static_cast<double>(n[i]) + config_.smoothing) / sum))
                : 0.0F;
    }
    return table;
  }

  Tensor counts_, table_;
};

std::unique_ptr<LanguageModel> CountsTraits::make(const CountsConfig& config) {
  return std::make_unique<Counts>(config);
}

const RegisterModel kCounts({CountsTraits::kind,
                             "pairs of tokens, counted in one pass",
                             ConfigOf<CountsConfig, CountsTraits>::defaults});

}  // namespace
}  // namespace qkv
