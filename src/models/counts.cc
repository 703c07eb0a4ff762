// The bigram by counting: how often each token follows each other one. It is
// what the network of bigram.cc comes to, found in one pass.
#include <cmath>

#include "kernels/embedding/embedding.h"
#include "models/context_model.h"

namespace qkv {
namespace {

struct CountsConfig {
  static constexpr std::string_view kind = "counts";
  std::int64_t vocab_size = 0;
  std::int64_t block_size = 64;
  double smoothing = 1;
};

template <class Visitor>
void visit_fields(Visitor&& visit, CountsConfig& c) {
  visit_sequence(visit, c);
  visit(c.smoothing, Field{"smoothing",
                           "added to every count, so that no pair is "
                           "impossible",
                           0, 1e9});
}

class Counts final : public ContextModel<CountsConfig, Counts> {
 public:
  explicit Counts(const CountsConfig& config) : ContextModel(config) {
    counts_ = add_buffer(
        "counts",
        Tensor::zeros({config.vocab_size, config.vocab_size}, DType::i64));
  }
  std::int64_t matmul_parameters() const override { return 0; }
  bool learns_by_counting() const override { return true; }

  void count(const Tensor& given, const Tensor& given_targets) override {
    const Tensor ids =
        checked_ids(CountsConfig::kind, given, config_.block_size);
    check_targets(CountsConfig::kind, ids, given_targets);
    const Tensor targets = contiguous(given_targets);
    const std::int64_t length = ids.dim(1), asked = targets.dim(1);
    const std::int64_t vocab = config_.vocab_size;
    const auto* id = ids.data<std::int64_t>();
    const auto* target = targets.data<std::int64_t>();
    if (kernels::first_out_of_range(id, ids.numel(), vocab) >= 0 ||
        kernels::first_out_of_range(target, targets.numel(), vocab, kIgnore) >=
            0)
      fail_input("[counts] an id or a target is outside 0..{}", vocab - 1);
    for (std::int64_t row = 0; row < ids.dim(0); ++row)
      for (std::int64_t i = 0; i < asked; ++i)
        if (const std::int64_t next = target[row * asked + i]; next != kIgnore)
          ++row_of(id[row * length + length - asked + i])[next];
  }

 protected:
  // log((N + smoothing) / Σ(N + smoothing)) of each id's row; a token that
  // nothing followed, without smoothing, leaves all alike.
  Tensor trunk(const Tensor& ids, std::int64_t count, Context&) override {
    const std::int64_t batch = ids.dim(0), length = ids.dim(1);
    const std::int64_t vocab = config_.vocab_size;
    const auto* id = ids.data<std::int64_t>();
    if (kernels::first_out_of_range(id, ids.numel(), vocab) >= 0)
      fail_input("[counts] an id is outside 0..{}", vocab - 1);
    Tensor logits = Tensor::empty({batch, count, vocab});
    float* out = logits.data<float>();
    for (std::int64_t row = 0; row < batch; ++row)
      for (std::int64_t t = length - count; t < length; ++t, out += vocab)
        write_row(row_of(id[row * length + t]), out);
    return logits;
  }

 private:
  std::int64_t* row_of(std::int64_t id) {
    return counts_.data<std::int64_t>() + id * config_.vocab_size;
  }
  void write_row(const std::int64_t* counts, float* out) const {
    const std::int64_t vocab = config_.vocab_size;
    double sum = 0;
    for (std::int64_t i = 0; i < vocab; ++i)
      sum += static_cast<double>(counts[i]) + config_.smoothing;
    for (std::int64_t i = 0; i < vocab; ++i) {
      const double n = static_cast<double>(counts[i]) + config_.smoothing;
      out[i] = sum > 0 ? static_cast<float>(std::log(n / sum)) : 0.0F;
    }
  }

  Tensor counts_;  // (V,V) i64, a row what followed a token
};

const RegisterModel kCounts(
    Counts::described("pairs of tokens, counted in one pass"));

}  // namespace
}  // namespace qkv
