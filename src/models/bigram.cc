// The bigram as a network: a table of logits, one row a token. The next token
// depends on the last one alone.
#include "models/context_model.h"

namespace qkv {
namespace {

struct BigramConfig {
  std::int64_t vocab_size = 0;
  std::int64_t block_size = 64;
};

template <class Visitor>
void visit_fields(Visitor&& visit, BigramConfig& c) {
  constexpr double kMany = 1 << 30;
  visit(c.vocab_size, Field{"vocab_size", "different tokens", 1, kMany});
  visit(c.block_size, Field{"block_size", "tokens of a sequence", 1, kMany});
}

struct BigramTraits {
  static constexpr std::string_view kind = "bigram";
  static std::unique_ptr<LanguageModel> make(const BigramConfig& config);
};

class Bigram final : public ContextModel<BigramConfig, BigramTraits> {
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

std::unique_ptr<LanguageModel> BigramTraits::make(const BigramConfig& config) {
  return std::make_unique<Bigram>(config);
}

const RegisterModel kBigram({BigramTraits::kind,
                             "a table of pairs: the next token after each",
                             ConfigOf<BigramConfig, BigramTraits>::defaults});

}  // namespace
}  // namespace qkv
