// How a deep MLP begins, and why it then learns or does not: the lecture on
// BatchNorm. Five hidden layers of tanh, with weights drawn carelessly, drawn
// to fit, and drawn carelessly again but normalised.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/lab/experiment.h"
#include "cli/lab/numbers.h"
#include "cli/lab/small_training.h"
#include "cli/lab/words.h"
#include "qkv/autograd.h"
#include "qkv/ops.h"
#include "qkv/optim.h"
#include "qkv/plot_course.h"

namespace qkv::cli::lab {
namespace {

constexpr std::int64_t kContext = 3, kEmbedding = 10, kHidden = 100;
constexpr int kLayers = 5;  // hidden ones
constexpr std::int64_t kBatch = 32;
constexpr double kRate = 0.1;            // of plain gradient descent
constexpr float kSaturated = 0.97F;      // of |tanh|
constexpr std::int64_t kCurveMean = 20;  // steps a point of the curves

struct Variant {
  const char *name, *id;
  double gain;       // weights N(0, gain²/inputs); 0: N(0,1)
  double last_gain;  // multiplies the last layer's
  bool normalised;
};
constexpr Variant kVariants[] = {
    {"N(0,1)", "careless", 0, 1, false},
    {"gain 5/3 / √inputs, last layer × 0.1", "fitted", 5.0 / 3, 0.1, false},
    {"N(0,1), BatchNorm before each tanh", "careless-normed", 0, 1, true},
    {"gain 1 / √inputs, BatchNorm", "normed", 1, 1, true},
};

struct Layer {
  Tensor weight, bias;  // (out,in), (out); no bias where normalised
  Tensor scale, shift;  // of the norm
};

// What one forward and backward pass went through.
struct Pass {
  Tensor loss;
  std::vector<Tensor> hidden;  // what each tanh gave, (batch, kHidden)
  // Zeros added to it, which receive its gradient.
  std::vector<Tensor> probes;
};

class DeepMlp {
 public:
  DeepMlp(const Variant& variant, std::int64_t vocab_size, std::uint64_t seed)
      : variant_(variant) {
    TorchRng rng(seed);
    table_ = drawn({vocab_size, kEmbedding}, 1, rng);
    std::int64_t in = kContext * kEmbedding;
    for (int l = 0; l <= kLayers; ++l) {
      const bool last = l == kLayers;
      const std::int64_t out = last ? vocab_size : kHidden;
      const double fit =
          variant.gain == 0 ? 1
                            : variant.gain / std::sqrt(static_cast<double>(in));
      const double gain = last ? variant.last_gain : 1;
      Layer layer{.weight = drawn({out, in}, fit * gain, rng)};
      if (variant.normalised) {
        // The last norm's factor does what the smaller last layer does.
        layer.scale = kept(Tensor::full({out}, last ? 0.1 : 1));
        layer.shift = kept(Tensor::zeros({out}));
      } else {
        layer.bias = kept(Tensor::zeros({out}));
      }
      layers_.push_back(layer);
      in = out;
    }
  }

  Pass forward(const data::Batch& batch, bool with_probes = false) const {
    Pass pass;
    Tensor x = reshape(embedding(table_, batch.ids), {batch.ids.dim(0), -1});
    for (const Layer& layer : layers_) {
      x = linear(x, layer.weight, layer.bias);
      if (variant_.normalised)
        x = batch_norm(x, layer.scale, layer.shift).output;
      if (&layer == &layers_.back()) break;
      x = tanh(x);
      pass.hidden.push_back(x.detach());
      if (!with_probes) continue;
      pass.probes.push_back(Tensor::zeros(x.shape()).set_requires_grad());
      x = add(x, pass.probes.back());
    }
    pass.loss = cross_entropy(x, batch.targets).mean;
    return pass;
  }

  std::vector<Tensor> weights() const {
    std::vector<Tensor> weights;
    for (const Layer& layer : layers_) weights.push_back(layer.weight);
    return weights;
  }
  const std::vector<NamedTensor>& parameters() const { return parameters_; }

 private:
  Tensor drawn(const Shape& shape, double factor, TorchRng& rng) {
    Tensor tensor = Tensor::empty(shape);
    rng.normal(tensor, 0, factor);
    return kept(tensor);
  }
  Tensor kept(Tensor tensor) {
    tensor.set_requires_grad();
    parameters_.push_back({std::to_string(parameters_.size()), tensor});
    return tensor;
  }

  const Variant variant_;
  Tensor table_;
  std::vector<Layer> layers_;
  std::vector<NamedTensor> parameters_;
};

double saturated_part(const std::vector<float>& values) {
  return static_cast<double>(
             std::count_if(values.begin(), values.end(),
                           [](float v) { return std::abs(v) > kSaturated; })) /
         static_cast<double>(values.size());
}

// log10 of the magnitude; of zero far below all others.
std::vector<float> magnitudes(const Tensor& tensor) {
  std::vector<float> values = tensor.to_vector<float>();
  for (float& v : values) v = v == 0 ? -30 : std::log10(std::abs(v));
  return values;
}

std::string small(double x) {
  return x != 0 && std::abs(x) < 0.01 ? fmt::format("{:.1e}", x)
                                      : fmt::format("{:.2f}", x);
}

// What was found of one variant.
struct Found {
  double initial = 0, final = 0;  // losses
  Table table;
  plot::Histograms activations, gradients, weight_gradients;
  plot::BitMap saturated;
  plot::Curves updates;
  plot::Series losses;
};

// At the start, on one large batch: what flows forward and back.
void look(const DeepMlp& mlp, const data::Batch& batch, const Variant& variant,
          Found& found) {
  const Pass pass = mlp.forward(batch, true);
  found.initial = pass.loss.item();
  backward(pass.loss);
  const auto about = [&](plot::Histograms& h, const char* what,
                         const char* x_name, double low, double high) {
    h.title = fmt::format("{}: {}", variant.id, what);
    h.about = fmt::format("qkv lab init, weights {}", variant.name);
    h.x_name = x_name;
    h.low = low, h.high = high;
    h.bins = 60;
  };
  about(found.activations, "activations", "tanh, at the start", -1, 1);
  found.activations.full = 0.1;
  about(found.gradients, "gradients", "log10 |gradient|, at the start", -8, 2);
  about(found.weight_gradients, "weight gradients",
        "log10 |gradient|, at the start", -8, 2);
  found.table.title = variant.name;
  found.table.columns = {"",          "mean",     "deviation",
                         "saturated", "gradient", "weight gradient",
                         "to weight"};
  const auto weights = mlp.weights();
  for (int l = 0; l <= kLayers; ++l) {
    const auto at = static_cast<std::size_t>(l);
    const std::string name =
        l == kLayers ? "last" : fmt::format("layer {}", l + 1);
    const Tensor weight_gradient = weights[at].grad();
    const double of_weights =
        spread_of(weight_gradient.to_vector<float>()).deviation;
    const double ratio =
        of_weights / spread_of(weights[at].to_vector<float>()).deviation;
    found.weight_gradients.samples.push_back(
        {name, magnitudes(weight_gradient), small(of_weights)});
    std::vector<std::string> row{name, "", "", "", ""};
    if (l < kLayers) {
      const auto values = pass.hidden[at].to_vector<float>();
      const Spread spread = spread_of(values);
      const double gradient =
          spread_of(pass.probes[at].grad().to_vector<float>()).deviation;
      const auto saturated =
          fmt::format("{:.1f} %", 100 * saturated_part(values));
      row = {name, fmt::format("{:.2f}", spread.mean),
             fmt::format("{:.2f}", spread.deviation), saturated,
             small(gradient)};
      found.activations.samples.push_back(
          {name, values,
           fmt::format("±{:.2f}  {}", spread.deviation, saturated)});
      found.gradients.samples.push_back(
          {name, magnitudes(pass.probes[at].grad()), small(gradient)});
    }
    row.push_back(small(of_weights));
    row.push_back(small(ratio));
    found.table.rows.push_back(row);
  }

  // Of the first layer, as the lecture's picture: an example a row.
  plot::BitMap& map = found.saturated;
  map.title = fmt::format("{}: layer 1", variant.id);
  map.about = found.activations.about;
  map.meaning = fmt::format("|tanh| > {:.2f}", kSaturated);
  map.row_name = "examples", map.column_name = "neurons";
  map.rows = static_cast<int>(kBatch), map.columns = static_cast<int>(kHidden);
  const auto first = pass.hidden[0].to_vector<float>();
  for (std::int64_t i = 0; i < kBatch * kHidden; ++i)
    map.cells.push_back(std::abs(first[static_cast<std::size_t>(i)]) >
                        kSaturated);
}

// Trains, and follows how large each update is beside what it changes.
void train(const Lab& lab, const DeepMlp& mlp, Windows& windows,
           const Variant& variant, Found& found) {
  const std::int64_t steps = lab.steps(3000);
  const auto sgd =
      optim::sgd(optim::parameters_of(mlp.parameters(), optim::DecayRule::all));
  sgd->zero_grad();
  found.updates.title = fmt::format("{}: update to weight", variant.id);
  found.updates.about = found.activations.about;
  found.updates.y_name = "log10 of the deviations' ratio";
  found.updates.levels = {{-3, "−3: a thousandth a step"}};
  found.updates.width_mm = 110;
  const auto weights = mlp.weights();
  for (std::size_t l = 0; l < weights.size(); ++l)
    found.updates.series.push_back(
        {found.weight_gradients.samples[l].name, {}});
  std::vector<double> sums(weights.size());
  double loss_sum = 0;
  found.losses.name = variant.id;
  for (std::int64_t step = 1; step <= steps; ++step) {
    lab.check();
    const Tensor loss = mlp.forward(windows.next(kBatch)).loss;
    backward(loss);
    loss_sum += loss.item();
    for (std::size_t l = 0; l < weights.size(); ++l)
      sums[l] += std::log10(
          kRate * spread_of(weights[l].grad().to_vector<float>()).deviation /
          spread_of(weights[l].to_vector<float>()).deviation);
    sgd->step(kRate);
    sgd->zero_grad();
    if (step % kCurveMean != 0) continue;
    found.losses.points.push_back({static_cast<double>(step),
                                   loss_sum / static_cast<double>(kCurveMean)});
    loss_sum = 0;
    for (std::size_t l = 0; l < weights.size(); ++l) {
      found.updates.series[l].points.push_back(
          {static_cast<double>(step),
           sums[l] / static_cast<double>(kCurveMean)});
      sums[l] = 0;
    }
  }
}

Report run(const Lab& lab) {
  const OneThread one_thread;
  Report report;
  Table summary;
  summary.columns = {
      "weights at the start", "loss at the start", "ln V",
      "loss when trained",    "saturated",         "update to weight"};
  std::vector<plot::Picture> activations, gradients, weight_gradients, maps;
  std::vector<Table> tables;
  plot::Curves losses;
  losses.title = "loss while training, mean of 20 steps";
  losses.about = "qkv lab init";
  for (const Variant& variant : kVariants) {
    lab.doing(fmt::format("init: {}", variant.name));
    Windows windows(kContext, 1337);
    const DeepMlp mlp(variant, windows.vocab_size(), 2147483647);
    const data::Batch held_out = windows.held_out(2048);
    Found found;
    look(mlp, held_out, variant, found);
    train(lab, mlp, windows, variant, found);
    const NoGrad no_grad;
    const Pass after = mlp.forward(held_out);
    double saturated = 0, update = 0;
    for (const Tensor& hidden : after.hidden)
      saturated += saturated_part(hidden.to_vector<float>()) / kLayers;
    for (const plot::Series& series : found.updates.series)
      update += series.points.back().y /
                static_cast<double>(found.updates.series.size());
    summary.rows.push_back(
        {variant.name, fmt::format("{:.3f}", found.initial),
         fmt::format("{:.3f}", std::log(windows.vocab_size())),
         fmt::format("{:.3f}", after.loss.item()),
         fmt::format("{:.1f} %", 100 * saturated),
         fmt::format("{:.2f}", update)});
    tables.push_back(found.table);
    losses.series.push_back(found.losses);
    if (losses.levels.empty())
      losses.levels = {{std::log(windows.vocab_size()), "ln V: guessing"}};
    for (auto* h :
         {&found.activations, &found.gradients, &found.weight_gradients})
      h->width_mm = 64;
    found.saturated.width_mm = 64;
    activations.push_back(plot::draw_histograms(found.activations));
    gradients.push_back(plot::draw_histograms(found.gradients));
    weight_gradients.push_back(plot::draw_histograms(found.weight_gradients));
    maps.push_back(plot::draw_bit_map(found.saturated));
    report.pictures.push_back({fmt::format("updates-{}", variant.id),
                               plot::draw_curves(found.updates)});
  }
  report.tables = {summary};
  report.tables.insert(report.tables.end(), tables.begin(), tables.end());
  report.pictures.push_back({"losses", plot::draw_curves(losses)});
  report.pictures.push_back({"activations", plot::side_by_side(activations)});
  report.pictures.push_back({"gradients", plot::side_by_side(gradients)});
  report.pictures.push_back(
      {"weight-gradients", plot::side_by_side(weight_gradients)});
  report.pictures.push_back({"saturation", plot::side_by_side(maps)});
  report.see =
      "Drawn N(0,1), the net is sure of wrong answers from the start: its loss "
      "is many times ln V, most neurons are saturated, and little comes of "
      "training. Weights that fit their number of inputs begin at ln V with "
      "activations and gradients alike in every layer, and learn. BatchNorm "
      "makes the range so whatever the weights: both normalised nets begin "
      "with the same activations. But the careless one's weights are large "
      "beside their gradients, so an update changes them little (below the "
      "guide line at -3, a thousandth a step) and it learns more slowly.";
  report.see += note_on_words();
  return report;
}

const RegisterExperiment kInit({"init",
                                "What do the weights at the start decide?",
                                run});

}  // namespace
}  // namespace qkv::cli::lab
