// Language models: one definition for training, cached generation and looking
// inside. All that is optional travels in the Context.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/export.h"
#include "qkv/fields.h"
#include "qkv/nn/module.h"
#include "qkv/ops.h"
#include "qkv/tap.h"

namespace qkv {

// What cached generation keeps between calls. A slot is one sequence. Before
// each forward, `active` names the slot that each row of the ids continues.
struct QKV_API DecodeState {
  virtual ~DecodeState();
  virtual int slots() const = 0;
  virtual std::int64_t length(int slot) const = 0;  // tokens it has seen
  virtual void clear(int slot) = 0;                 // forgets a sequence
  std::vector<int> active;
};

struct LanguageModel;

// The configuration of one kind of model, as bundle, checkpoint and command
// line see it: fields by name.
class QKV_API ModelConfig {
 public:
  virtual ~ModelConfig();
  virtual std::string_view kind() const = 0;  // "gpt"
  virtual void visit(FieldVisitor& visitor) = 0;
  virtual std::unique_ptr<ModelConfig> clone() const = 0;
  // Throws naming the field that is wrong.
  virtual std::unique_ptr<LanguageModel> make() const = 0;
  // What every language model has, whatever its kind.
  virtual void set_vocab_size(std::int64_t n) = 0;
  virtual void set_block_size(std::int64_t n) = 0;
};

// The registered kinds of models, by name; a kind is a file in src/models with
// one static of type RegisterModel.
struct ModelKind {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<ModelConfig> (*config)();  // with its defaults
};
QKV_API std::vector<ModelKind> model_kinds();
// Throws listing the kinds there are.
QKV_API std::unique_ptr<ModelConfig> model_config(std::string_view kind);

struct QKV_API RegisterModel {
  explicit RegisterModel(const ModelKind& kind);
};

struct QKV_API LanguageModel : nn::Module {
  // ids (B,T) i64 -> (B,T,V). With context.state, T new tokens per active slot,
  // after those it has seen. Throws (input) on an id outside the vocabulary and
  // on more tokens than the context. Several threads may call it at once,
  // each with a state of its own, while nobody changes the weights.
  virtual Tensor logits(const Tensor& ids, Context& context) = 0;
  // ids (B,T) i64, targets (B,S) i64: of the last S <= T positions; targets of
  // kIgnore do not count. In nats.
  virtual Loss loss(const Tensor& ids, const Tensor& targets, Context& context);
  virtual std::unique_ptr<DecodeState> new_state(int slots) = 0;

  // A model without gradients is shown every training example once instead.
  virtual bool learns_by_counting() const { return false; }
  // Throws in all others. ids and targets as in loss().
  virtual void count(const Tensor& ids, const Tensor& targets);

  // What it was built from.
  virtual const ModelConfig& config() const = 0;
  virtual std::int64_t vocab_size() const = 0;
  virtual std::int64_t block_size() const = 0;  // longest context
  // Parameters that enter a matrix product for each token: 6 of them times
  // tokens, plus attention, are a training step's floating point operations.
  virtual std::int64_t matmul_parameters() const = 0;
  // Of one training step on (batch, length), attention's visible half included.
  virtual double step_flops(std::int64_t batch, std::int64_t length) const = 0;
  // Bytes that a training step on (batch, length) needs at its peak beside
  // weights, gradients and moments.
  virtual double activation_bytes(std::int64_t batch,
                                  std::int64_t length) const = 0;
};

enum class Activation { relu, gelu_tanh, gelu_erf };
template <>
struct EnumNames<Activation> {
  static constexpr std::string_view names[] = {"relu", "gelu-tanh", "gelu-erf"};
};

// Which linear layers and norms have a bias: all; all but the packed
// query/key/value projection; or none.
enum class Biases { all, all_but_qkv, none };
template <>
struct EnumNames<Biases> {
  static constexpr std::string_view names[] = {"all", "all-but-qkv", "none"};
};

// torch_default: what PyTorch's layers draw. normal: N(0, 0.02), biases 0.
// gpt2: the same with residual projections N(0, 0.02/√(2·layers)).
enum class Init { torch_default, normal, gpt2 };
template <>
struct EnumNames<Init> {
  static constexpr std::string_view names[] = {"torch-default", "normal",
                                               "gpt2"};
};

struct GptConfig {
  std::int64_t vocab_size = 0;
  std::int64_t block_size = 64;
  std::int64_t n_layer = 4;
  std::int64_t n_head = 4;
  std::int64_t n_embd = 128;
  Activation activation = Activation::gelu_tanh;
  Biases biases = Biases::all;
  bool tied_head = false;
  bool head_bias = false;
  Init init = Init::gpt2;
  double embd_dropout = 0;
  double attn_dropout = 0;
  double resid_dropout = 0;
};

template <class Visitor>
void visit_fields(Visitor&& visit, GptConfig& c) {
  constexpr double kMany = 1 << 30;
  visit(c.vocab_size, Field{"vocab_size", "different tokens", 1, kMany});
  visit(c.block_size, Field{"block_size", "longest context, tokens", 1, kMany});
  visit(c.n_layer, Field{"n_layer", "transformer blocks", 0, 4096});
  visit(c.n_head, Field{"n_head", "attention heads a block", 1, kMany});
  visit(c.n_embd,
        Field{"n_embd", "model width, a multiple of the heads", 1, kMany});
  visit(c.activation, Field{"activation", "of the feed-forward part"});
  visit(c.biases, Field{"biases", "which layers have a bias"});
  visit(c.tied_head,
        Field{"tied_head", "the head uses the token embedding's weights"});
  visit(c.head_bias, Field{"head_bias", "the head has a bias"});
  visit(c.init, Field{"init", "how weights begin"});
  visit(c.embd_dropout,
        Field{"embd_dropout", "dropout on the embeddings", 0, 0.999});
  visit(c.attn_dropout,
        Field{"attn_dropout", "dropout on the attention weights", 0, 0.999});
  visit(c.resid_dropout,
        Field{"resid_dropout", "dropout before each residual sum", 0, 0.999});
}

// Throws naming field and value: heads that do not divide the width, sizes
// below 1, and so on.
QKV_API void validate(const GptConfig& config);

// GPT-2's architecture and its relatives: token and position embedding,
// pre-norm blocks, a last norm, a head. Parameter names are nanoGPT's.
QKV_API std::unique_ptr<LanguageModel> make_gpt(const GptConfig& config);

}  // namespace qkv
