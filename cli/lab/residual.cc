// What residual connections and layer norm are for: depth.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/lab/experiment.h"
#include "cli/lab/small_training.h"
#include "cli/lab/small_transformer.h"
#include "cli/lab/words.h"
#include "qkv/autograd.h"
#include "qkv/error.h"
#include "qkv/ops.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kDeepest = 12, kDepths[] = {2, kDeepest};
constexpr double kRates[] = {0.003, 0.02};

struct Variant {
  const char* name;
  bool residual;
  Norm norm;
};
constexpr Variant kVariants[] = {
    {"no residual, no norm", false, Norm::none},
    {"no residual, norm before", false, Norm::before},
    {"residual, no norm", true, Norm::none},
    {"residual, norm after", true, Norm::after},
    {"residual, norm before", true, Norm::before},
};

std::string number(double x) {
  return x >= 0.001 ? fmt::format("{:.3f}", x) : fmt::format("{:.0e}", x);
}

// A net of this kind, and the words it is trained on.
struct Subject {
  std::unique_ptr<data::Dataset> words = open_words(1);
  SmallTransformer net;

  Subject(const Variant& variant, std::int64_t depth)
      : net({.vocab_size = words->tokenizer().vocab_size(),
             .length = words->block_size(),
             .layers = depth,
             .residual = variant.residual,
             .norm = variant.norm},
            1) {}

  data::Batch held_out() const { return lab::held_out(*words, 256); }
};

// The gradients of the first and the last block before any training.
std::pair<double, double> gradients_at_the_start(const Variant& variant,
                                                 std::int64_t depth) {
  const Subject subject(variant, depth);
  backward(learner(subject.net).loss(subject.held_out()));
  return {subject.net.gradient_of_block(0),
          subject.net.gradient_of_block(depth - 1)};
}

struct Outcome {
  std::optional<double> loss;  // held out; none: the gradients became NaN
  std::vector<plot::Point> curve;
};
Outcome trained(const Lab& lab, const Variant& variant, std::int64_t depth,
                double rate) {
  const Subject subject(variant, depth);
  const Learner student = learner(subject.net);
  const Questions next = [&](TorchRng&, std::int64_t count) {
    return subject.words->next(count);
  };
  try {
    const Fit fitted =
        fit(lab, student, next, {.steps = 200, .batch = 16, .lr = rate});
    return {score_of(student, subject.held_out()).loss, fitted.curve};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    return {};
  }
}

// Beyond this the loss would leave no room for the other curves.
constexpr double kBroken = 5;

plot::Series until_it_breaks(const Variant& variant,
                             const std::vector<plot::Point>& curve) {
  const auto end = std::find_if(curve.begin(), curve.end(),
                                [](const auto& p) { return !(p.y < kBroken); });
  plot::Series series{variant.name, {}};
  if (end != curve.end()) series.name += ", until it breaks:";
  series.points.assign(curve.begin(), end);
  return series;
}

Report run(const Lab& lab) {
  const OneThread one_thread;
  Table table;
  table.columns = {"", "blocks", "gradient, first block", "last block"};
  table.columns.reserve(table.columns.size() + std::size(kRates));
  for (const double rate : kRates)
    table.columns.push_back(fmt::format("loss at rate {}", rate));
  std::vector<plot::Picture> pictures;
  pictures.reserve(std::size(kRates));
  std::vector<plot::Curves> curves(std::size(kRates));
  for (std::size_t r = 0; r < curves.size(); ++r) {
    curves[r].title =
        fmt::format("{} blocks, learning rate {}", kDeepest, kRates[r]);
    curves[r].about = "qkv lab residual";
    curves[r].width_mm = 125;
  }
  for (const Variant& variant : kVariants)
    for (const std::int64_t depth : kDepths) {
      lab.doing(fmt::format("residual: {}, {} blocks", variant.name, depth));
      const auto [first, last] = gradients_at_the_start(variant, depth);
      std::vector<std::string> row{variant.name, std::to_string(depth),
                                   number(first), number(last)};
      for (std::size_t r = 0; r < curves.size(); ++r) {
        const Outcome outcome = trained(lab, variant, depth, kRates[r]);
        row.push_back(outcome.loss ? number(*outcome.loss) : "breaks");
        // An empty curve, too: the others keep their colours.
        if (depth == kDeepest)
          curves[r].series.push_back(until_it_breaks(variant, outcome.curve));
      }
      table.rows.push_back(row);
    }
  for (const plot::Curves& one : curves)
    pictures.push_back(plot::draw_curves(one));
  Report report;
  report.tables = {table};
  report.pictures = {{"", plot::side_by_side(pictures)}};
  report.see =
      "Without residual connections the gradient of the first block vanishes "
      "with depth, or, where norms keep its size, says nothing any more: "
      "twelve blocks learn no more than how often each letter comes. With them "
      "a gradient reaches every block, and at the small rate twelve blocks do "
      "about as well as two. Norms decide how large a learning rate may be: at "
      "the small one all three residual nets learn; at the large one and "
      "twelve blocks the net without norms comes apart, that with norms after "
      "the sum learns next to nothing, and only norms before each part still "
      "work.";
  report.see += note_on_words();
  return report;
}

const RegisterExperiment kResidual({"residual", "What lets a network be deep?",
                                    run});

}  // namespace
}  // namespace qkv::cli::lab
