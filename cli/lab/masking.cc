// What the causal mask is for: a model that may look at the next token learns
// to look, not to foretell.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/lab/experiment.h"
#include "cli/lab/small_training.h"
#include "cli/lab/small_transformer.h"
#include "cli/lab/words.h"
#include "qkv/autograd.h"
#include "qkv/ops.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kHeldOut = 256, kSamples = 200;

// The loss where each token is foretold from those before it alone.
double honest_loss(const SmallTransformer& net, const data::Batch& batch) {
  const NoGrad no_grad;
  std::vector<Tensor> logits;
  for (std::int64_t t = 1; t <= batch.ids.dim(1); ++t)
    logits.push_back(
        slice(net.logits(contiguous(slice(batch.ids, 1, 0, t))), 1, t - 1, t));
  return cross_entropy(
             contiguous(of_the_last(concat(logits, 1), batch.targets.dim(1))),
             batch.targets)
      .mean.item();
}

std::string sample(const SmallTransformer& net, const data::Dataset& words,
                   TorchRng& rng) {
  const NoGrad no_grad;
  const Tokenizer& tokenizer = words.tokenizer();
  const std::int64_t stop = tokenizer.stop_token().value_or(-1);
  std::vector<std::int64_t> ids{tokenizer.start_token().value_or(0)};
  std::string text;
  while (std::ssize(ids) < words.block_size()) {
    const std::int64_t length = std::ssize(ids);
    const Tensor logits =
        net.logits(Tensor::from<std::int64_t>({1, length}, ids));
    const Tensor weights =
        softmax(contiguous(slice(logits, 1, length - 1, length)));
    const std::int64_t next =
        rng.multinomial(weights.data<float>(), weights.numel());
    if (next == stop) break;
    ids.push_back(next);
    text += tokenizer.token_text(next);
  }
  return text;
}

// How far the outputs at earlier positions move when the last token changes.
double moved_by_the_last(const SmallTransformer& net, const data::Batch& batch,
                         std::int64_t vocab_size) {
  const NoGrad no_grad;
  const std::int64_t length = batch.ids.dim(1);
  Tensor changed = batch.ids.clone();
  for (std::int64_t row = 0; row < changed.dim(0); ++row) {
    auto& last = changed.data<std::int64_t>()[(row + 1) * length - 1];
    last = (last + 1) % vocab_size;
  }
  const auto before = [&](const Tensor& ids) {
    return slice(net.logits(ids), 1, 0, length - 1).to_vector<float>();
  };
  const auto a = before(batch.ids), b = before(changed);
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

struct Variant {
  const char* name;
  Mask mask;
};

Report run(const Lab& lab) {
  const OneThread one_thread;
  const Variant variants[] = {{"causal mask", Mask::causal()},
                              {"no mask", Mask::none()}};
  Table table;
  table.columns = {"", "loss, all in sight", "loss, the past in sight",
                   "change of earlier outputs", "words that exist"};
  Table samples;
  samples.title = "what they generate";
  samples.columns = {"", "", "", "", "", ""};
  plot::Curves curves;
  curves.title = "loss while training";
  curves.about = "qkv lab masking";
  for (const Variant& variant : variants) {
    lab.doing(fmt::format("masking: training with {}", variant.name));
    const auto words = open_words(1);
    const std::int64_t vocab_size = words->tokenizer().vocab_size();
    const SmallTransformer net({.vocab_size = vocab_size,
                                .length = words->block_size(),
                                .layers = 2,
                                .mask = variant.mask},
                               1);
    const Learner student = learner(net);
    const Fit trained =
        fit(lab, student,
            [&](TorchRng&, std::int64_t count) { return words->next(count); },
            {.steps = 1500, .batch = 32, .lr = 4e-3});
    const data::Batch new_words = held_out(*words, kHeldOut);
    lab.doing(fmt::format("masking: generating with {}", variant.name));
    TorchRng rng(1);
    std::int64_t exist = 0;
    std::vector<std::string> shown{variant.name};
    for (std::int64_t i = 0; i < kSamples; ++i) {
      const std::string text = sample(net, *words, rng);
      const std::string verdict = words->judge(text);
      exist += verdict.starts_with("in ") || verdict == "right" ? 1 : 0;
      if (shown.size() < samples.columns.size())
        shown.push_back(text.empty() ? "(nothing)" : text);
    }
    samples.rows.push_back(shown);
    table.rows.push_back(
        {variant.name, fmt::format("{:.3f}", score_of(student, new_words).loss),
         fmt::format("{:.3f}", honest_loss(net, new_words)),
         fmt::format("{:.3g}", moved_by_the_last(net, new_words, vocab_size)),
         fmt::format("{:.1f} %", 100.0 * static_cast<double>(exist) /
                                     static_cast<double>(kSamples))});
    curves.series.push_back({variant.name, trained.curve});
    if (curves.levels.empty())
      curves.levels = {{std::log(vocab_size), "ln V: guessing"}};
  }
  Report report;
  report.tables = {table, samples};
  report.pictures = {{"", plot::draw_curves(curves)}};
  report.see =
      "Without the mask the loss falls to nothing: the next token is in sight, "
      "and the net learns to copy it. Where only the past is in sight, as when "
      "generating, its loss is far above guessing (ln V), and what it "
      "generates are no words. With the mask both losses are one, since a "
      "later token changes no earlier output at all: the largest difference is "
      "exactly 0.";
  report.see += note_on_words();
  return report;
}

const RegisterExperiment kMasking({"masking",
                                   "What does the causal mask prevent?", run});

}  // namespace
}  // namespace qkv::cli::lab
