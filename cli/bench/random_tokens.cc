#include "cli/bench/random_tokens.h"

#include "core/check.h"

namespace qkv::cli::bench {
namespace {

class RandomTokens final : public data::Dataset {
 public:
  RandomTokens(std::int64_t vocab_size, std::int64_t block_size)
      : vocab_size_(vocab_size),
        block_size_(block_size),
        tokenizer_(character_tokenizer("ab", false)) {}

  std::string_view kind() const override { return "random"; }
  std::string describe() const override { return "random tokens"; }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  std::int64_t block_size() const override { return block_size_; }
  void start(TorchRng&) override {}
  data::Batch next(std::int64_t batch_size) override {
    return {draw(batch_size), draw(batch_size)};
  }
  std::int64_t examples(data::Split) const override { return 0; }
  data::Batch evaluation(data::Split, std::int64_t,
                         std::int64_t) const override {
    fail_internal("random tokens are for steps alone");
  }
  std::string prompt(std::int64_t) const override { return ""; }
  std::string judge(std::string_view) const override { return ""; }
  std::string state() const override { return ""; }
  void set_state(const std::string&) override {}

 private:
  Tensor draw(std::int64_t batch_size) {
    Tensor ids = Tensor::empty({batch_size, block_size_}, DType::i64);
    for (std::int64_t i = 0; i < ids.numel(); ++i)
      ids.data<std::int64_t>()[i] = rng_.randint(vocab_size_);
    return ids;
  }

  std::int64_t vocab_size_, block_size_;
  std::unique_ptr<Tokenizer> tokenizer_;
  TorchRng rng_{1};
};

}  // namespace

std::unique_ptr<data::Dataset> random_tokens(std::int64_t vocab_size,
                                             std::int64_t block_size) {
  return std::make_unique<RandomTokens>(vocab_size, block_size);
}

}  // namespace qkv::cli::bench
