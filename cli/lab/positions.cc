// Why attention needs positions: without them it sees a set of tokens, not a
// sequence.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/lab/experiment.h"
#include "cli/lab/numbers.h"
#include "cli/lab/small_training.h"
#include "cli/lab/small_transformer.h"
#include "qkv/autograd.h"
#include "qkv/ops.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kLetters = 8, kLength = 12, kWidth = 32;

// Random letters; asked at each: which one stood before it?
data::Batch questions(TorchRng& rng, std::int64_t count) {
  data::Batch batch = empty_questions(count, kLength, kLength);
  auto* ids = batch.ids.data<std::int64_t>();
  auto* targets = batch.targets.data<std::int64_t>();
  for (std::int64_t i = 0; i < count * kLength; ++i) {
    ids[i] = rng.randint(kLetters);
    targets[i] = i % kLength == 0 ? kIgnore : ids[i - 1];
  }
  return batch;
}

struct Variant {
  const char* name;
  bool positions;
  Mask mask;
  std::int64_t layers;
};

// x (1,T,D) with its positions in another order.
Tensor reordered(const Tensor& x, const std::vector<std::int64_t>& order) {
  std::vector<Tensor> rows;
  rows.reserve(order.size());
  for (const std::int64_t from : order)
    rows.push_back(slice(x, 1, from, from + 1));
  return contiguous(concat(rows, 1));
}

// How far attention of a reordered sequence is from its reordered output.
Table equivariance() {
  Table table;
  table.title = "attend and reorder, or reorder and attend";
  table.columns = {"", "numbers", "largest difference"};
  const NoGrad no_grad;
  nn::manual_seed(1);
  nn::MultiHeadSelfAttention attention(kWidth, 4);
  TorchRng rng(1);
  Tensor tokens = Tensor::empty({1, kLength, kWidth});
  Tensor positions = Tensor::empty({1, kLength, kWidth});
  rng.randn(tokens);
  rng.randn(positions);
  const auto order = rng.randperm(kLength);
  const auto add_row = [&](const char* name, DType dtype, bool with_positions,
                           const Mask& mask) {
    const auto attend = [&](const Tensor& x) {
      const Tensor placed = with_positions ? add(x, positions.to(dtype)) : x;
      return attention.forward(placed, {.mask = mask}).output;
    };
    const Tensor x = tokens.to(dtype);
    table.rows.push_back(
        {name, dtype == DType::f32 ? "f32" : "f64",
         fmt::format("{:.1e}",
                     largest_difference(reordered(attend(x), order),
                                        attend(reordered(x, order))))});
  };
  add_row("no positions", DType::f32, false, Mask::none());
  attention.to(DType::f64);
  add_row("no positions", DType::f64, false, Mask::none());
  add_row("position embedding", DType::f64, true, Mask::none());
  add_row("ALiBi", DType::f64, false, Mask::none().with_alibi());
  add_row("causal mask, no positions", DType::f64, false, Mask::causal());
  return table;
}

Report run(const Lab& lab) {
  const Variant variants[] = {
      {"no positions", false, Mask::causal(), 1},
      {"no positions, 2 blocks", false, Mask::causal(), 2},
      {"position embedding", true, Mask::causal(), 1},
      {"ALiBi", false, Mask::causal().with_alibi(), 1},
  };
  Table table;
  table.title = fmt::format(
      "which letter stood before this one? Guessing: {:.3f}, {:.1f} %",
      std::log(kLetters), 100.0 / kLetters);
  table.columns = {"", "blocks", "loss", "right"};
  plot::Curves curves;
  curves.title = "which letter stood before this one?";
  curves.about = "qkv lab positions";
  curves.levels = {{std::log(kLetters), "ln 8: guessing"}};
  for (const Variant& variant : variants) {
    lab.doing(fmt::format("positions: {}", variant.name));
    const SmallTransformer net({.vocab_size = kLetters,
                                .length = kLength,
                                .width = kWidth,
                                .heads = 4,
                                .layers = variant.layers,
                                .positions = variant.positions,
                                .mask = variant.mask},
                               1);
    const Fit trained = fit(lab, learner(net), questions,
                            {.steps = 1500, .batch = 32, .lr = 5e-3});
    table.rows.push_back(
        {variant.name, std::to_string(variant.layers),
         fmt::format("{:.3f}", trained.score.loss),
         fmt::format("{:.1f} %", 100 * trained.score.accuracy)});
    curves.series.push_back({variant.name, trained.curve});
  }
  Report report;
  report.tables = {table, equivariance()};
  report.pictures = {{"", plot::draw_curves(curves)}};
  report.see =
      "One block of attention without positions sees which letters came "
      "before, not which came last. A position embedding tells it; so does "
      "ALiBi, less sharply, since it only favours what is near. Two causal "
      "blocks find the order by themselves: the mask lets each position see "
      "one more than the last, and that can be counted. Without the mask, "
      "reordering the tokens reorders the output and does nothing else, to the "
      "last bits of rounding; anything that tells positions apart ends that.";
  return report;
}

const RegisterExperiment kPositions({"positions",
                                     "Why does attention need positions?",
                                     run});

}  // namespace
}  // namespace qkv::cli::lab
