// The bigram as a network: a table of logits, one row a token. The next token
// depends on the last one alone.
#include "models/context_model.h"

namespace qkv {
namespace {

struct BigramConfig {
  static constexpr std::string_view kind = "bigram";
  std::int64_t vocab_size = 0;
  std::int64_t block_size = 64;
};

template <class Visitor>
void visit_fields(Visitor&& visit, BigramConfig& c) {
  visit_sequence(visit, c);
}

class Bigram final : public ContextModel<BigramConfig, Bigram> {
 public:
  explicit Bigram(const BigramConfig& config) : ContextModel(config) {
    // All tokens alike to begin with, as makemore.
    logits_ = add_parameter(
        "logits", Tensor::zeros({config.vocab_size, config.vocab_size}),
        /*table=*/true);
  }
  std::int64_t matmul_parameters() const override { return 0; }

 protected:
  Tensor trunk(const Tensor& ids, std::int64_t count, Context&) override {
    return embedding(logits_, slice(ids, 1, ids.dim(1) - count, ids.dim(1)));
  }

 private:
  Tensor logits_;
};

const RegisterModel kBigram(
    Bigram::described("a table of pairs: the next token after each"));

}  // namespace
}  // namespace qkv
