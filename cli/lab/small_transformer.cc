#include "cli/lab/small_transformer.h"

#include <numeric>
#include <string>

#include "qkv/ops.h"
#include "qkv/optim.h"

namespace qkv::cli::lab {

SmallTransformer::Block::Block(std::int64_t width, std::int64_t heads)
    : ln_1(width),
      ln_2(width),
      attn(width, heads),
      in(width, 4 * width),
      out(4 * width, width) {
  add_module("ln_1", ln_1);
  add_module("attn", attn);
  add_module("ln_2", ln_2);
  add_module("in", in);
  add_module("out", out);
}

SmallTransformer::SmallTransformer(const SmallTransformerOptions& options,
                                   std::uint64_t seed)
    : options_(options) {
  nn::manual_seed(seed);
  tokens_ = std::make_unique<nn::Embedding>(options.vocab_size, options.width);
  add_module("tokens", *tokens_);
  if (options.positions) {
    positions_ = std::make_unique<nn::Embedding>(options.length, options.width);
    add_module("positions", *positions_);
  }
  for (std::int64_t l = 0; l < options.layers; ++l) {
    blocks_.push_back(std::make_unique<Block>(options.width, options.heads));
    add_module(std::to_string(l), *blocks_.back());
  }
  last_norm_ = std::make_unique<nn::LayerNorm>(options.width);
  if (options.norm == Norm::before) add_module("last_norm", *last_norm_);
  head_ = std::make_unique<nn::Linear>(options.width, options.vocab_size);
  add_module("head", *head_);
}

template <class Part>
Tensor SmallTransformer::through(const Tensor& x, const nn::LayerNorm& norm,
                                 const Part& part) const {
  Tensor y = part(options_.norm == Norm::before ? norm.forward(x) : x);
  if (options_.residual) y = add(x, y);
  return options_.norm == Norm::after ? norm.forward(y) : y;
}

Tensor SmallTransformer::logits(const Tensor& ids) const {
  Tensor x = tokens_->forward(ids);
  if (positions_) x = add(x, slice(positions_->weight, 0, 0, ids.dim(1)));
  for (const auto& block : blocks_) {
    x = through(x, block->ln_1, [&](const Tensor& y) {
      return block->attn.forward(y, {.mask = options_.mask}).output;
    });
    x = through(x, block->ln_2, [&](const Tensor& y) {
      return block->out.forward(relu(block->in.forward(y)));
    });
  }
  if (options_.norm == Norm::before) x = last_norm_->forward(x);
  return head_->forward(x);
}

double SmallTransformer::gradient_of_block(std::int64_t layer) const {
  return optim::grad_norm(optim::parameters_of(
      blocks_[static_cast<std::size_t>(layer)]->parameters(),
      optim::DecayRule::all));
}

Learner learner(const SmallTransformer& net) {
  return learner(net, [&net](const data::Batch& batch) {
    return of_the_last(net.logits(batch.ids), batch.targets.dim(1));
  });
}

}  // namespace qkv::cli::lab
