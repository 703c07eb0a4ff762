// The first lecture: differentiation of single numbers, its known answers, and
// a network of 337 of them that tells two moons apart.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cli/lab/experiment.h"
#include "cli/lab/scalar.h"
#include "qkv/plot_course.h"
#include "qkv/rng.h"

namespace qkv::cli::lab {
namespace {

// ---- Known answers ----------------------------------------------------------

// The example of micrograd's own description.
Scalar example(const Scalar& a, const Scalar& b) {
  Scalar c = a + b, d = a * b + power(b, 3);
  c = c + (c + 1);
  c = c + (1 + c + (-a));
  d = d + (d * 2 + relu(b + a));
  d = d + (3 * d + relu(b - a));
  const Scalar f = power(c - d, 2);
  return f / 2.0 + 10.0 / f;
}

// The lecture's neuron: two inputs, their weights, and a bias that makes the
// slopes round.
struct Neuron {
  Scalar x1{2, "x1"}, x2{0, "x2"}, w1{-3, "w1"}, w2{1, "w2"};
  Scalar b{6.8813735870195432, "b"};
  Scalar sum = x1 * w1 + x2 * w2 + b;
};

// tanh from exp, as the lecture takes it apart.
Scalar tanh_by_exp(const Scalar& x) {
  const Scalar e = exp(2 * x);
  return (e - 1) / (e + 1);
}

Table known_answers() {
  Table table;
  table.title = "known answers";
  table.columns = {"of", "here", "published"};
  const auto add = [&](const char* what, double here, const char* published) {
    // As many digits as were published; no negative zero.
    table.rows.push_back({what, fmt::format("{:.4f}", here + 0.0), published});
  };
  const Scalar a(-4), b(2), g = example(a, b);
  g.backward();
  add("g, micrograd's example", g.data(), "24.7041");
  add("dg/da", a.gradient(), "138.8338");
  add("dg/db", b.gradient(), "645.5773");
  for (const bool by_exp : {false, true}) {
    const Neuron n;
    const Scalar o = by_exp ? tanh_by_exp(n.sum) : tanh(n.sum);
    o.backward();
    add(by_exp ? "o, the same with exp" : "o, the lecture's neuron", o.data(),
        "0.7071");
    add("do/dx1", n.x1.gradient(), "-1.5000");
    add("do/dw1", n.w1.gradient(), "1.0000");
    add("do/dx2", n.x2.gradient(), "0.5000");
    add("do/dw2", n.w2.gradient(), "0.0000");
  }
  return table;
}

plot::Picture neuron_graph() {
  const Neuron n;
  const Scalar o = tanh(n.sum).named("o");
  n.sum.named("n");
  o.backward();
  plot::ExpressionGraph graph;
  graph.title = "a neuron: o = tanh(x1 w1 + x2 w2 + b), and do/d each number";
  const std::vector<Scalar> all = o.history();
  for (const Scalar& x : all) {
    plot::GraphValue value{.name = x.name(),
                           .data = x.data(),
                           .gradient = x.gradient(),
                           .operation = std::string(x.operation()),
                           .from = {}};
    for (const Scalar& from : x.from())
      for (std::size_t i = 0; i < graph.values.size(); ++i)
        if (all[i].same(from)) value.from.push_back(static_cast<int>(i));
    graph.values.push_back(value);
  }
  return plot::draw_expression_graph(graph);
}

// ---- Two moons --------------------------------------------------------------

constexpr int kPoints = 100;
constexpr double kNoise = 0.1, kDecay = 1e-4;

// Two half circles that reach into each other, by turns.
std::vector<plot::Example> moons(TorchRng& rng) {
  Tensor noise = Tensor::empty({kPoints, 2}, DType::f64);
  rng.normal(noise, 0, kNoise);
  std::vector<plot::Example> points;
  for (int i = 0; i < kPoints; ++i) {
    const bool lower = i % 2 == 1;
    constexpr int kLast = kPoints / 2 - 1;  // of a moon
    const int place = i / 2;
    const double angle = std::numbers::pi * place / kLast;
    const double x = std::cos(angle), y = std::sin(angle);
    const double* moved = noise.data<double>() + 2 * i;
    points.push_back({(lower ? 1 - x : x) + moved[0],
                      (lower ? 0.5 - y : y) + moved[1], lower});
  }
  return points;
}

// relu everywhere but in the last layer; weights U(-1, 1), biases 0.
class Network {
 public:
  Network(TorchRng& rng, const std::vector<int>& widths) {
    Tensor draw = Tensor::empty({1}, DType::f64);
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
      Layer layer;
      for (int i = 0; i < widths[l + 1]; ++i) {
        std::vector<Scalar> weights;
        for (int j = 0; j < widths[l]; ++j) {
          rng.uniform(draw, -1, 1);
          weights.emplace_back(draw.item());
        }
        layer.push_back({std::move(weights), Scalar(0)});
      }
      layers_.push_back(std::move(layer));
    }
  }

  Scalar operator()(std::vector<Scalar> x) const {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      std::vector<Scalar> next;
      for (const auto& [weights, bias] : layers_[l]) {
        Scalar sum = bias;
        for (std::size_t j = 0; j < x.size(); ++j)
          sum = sum + weights[j] * x[j];
        next.push_back(l + 1 < layers_.size() ? relu(sum) : sum);
      }
      x = std::move(next);
    }
    return x.front();
  }

  std::vector<Scalar> parameters() const {
    std::vector<Scalar> all;
    for (const Layer& layer : layers_)
      for (const auto& [weights, bias] : layer) {
        all.insert(all.end(), weights.begin(), weights.end());
        all.push_back(bias);
      }
    return all;
  }

 private:
  struct Unit {
    std::vector<Scalar> weights;
    Scalar bias;
  };
  using Layer = std::vector<Unit>;
  std::vector<Layer> layers_;
};

struct Measured {
  Scalar loss;
  double accuracy = 0;  // per cent
};

// The mean of max(0, 1 - y · score), y = ±1, and the sum of all squares.
Measured measure(const Network& network,
                 const std::vector<plot::Example>& points) {
  Measured measured{0};
  for (const plot::Example& point : points) {
    const Scalar score = network({Scalar(point.x), Scalar(point.y)});
    measured.loss =
        measured.loss + relu(1 - (point.positive ? 1.0 : -1.0) * score);
    measured.accuracy += (score.data() > 0) == point.positive ? 1 : 0;
  }
  const auto n = static_cast<double>(points.size());
  measured.loss = measured.loss / n;
  measured.accuracy *= 100 / n;
  Scalar squares = 0;
  for (const Scalar& p : network.parameters()) squares = squares + p * p;
  measured.loss = measured.loss + kDecay * squares;
  return measured;
}

plot::Picture boundary(const Network& network,
                       const std::vector<plot::Example>& points,
                       double accuracy, bool quick) {
  plot::DecisionBoundary b;
  b.title = fmt::format("two moons, {:.0f} % told apart", accuracy);
  b.x_low = -1.6, b.x_high = 2.6, b.y_low = -1.2, b.y_high = 1.7;
  b.columns = b.rows = quick ? 10 : 80;
  for (int row = 0; row < b.rows; ++row)
    for (int column = 0; column < b.columns; ++column)
      b.scores.push_back(
          network({b.x_low + (column + 0.5) / b.columns * (b.x_high - b.x_low),
                   b.y_low + (row + 0.5) / b.rows * (b.y_high - b.y_low)})
              .data());
  b.examples = points;
  b.positive = "lower moon";
  b.negative = "upper moon";
  return plot::draw_decision_boundary(b);
}

Report run(const Lab& lab) {
  Report report;
  report.tables.push_back(known_answers());
  report.pictures.push_back({"neuron", neuron_graph()});

  TorchRng rng(1337);
  const auto points = moons(rng);
  const Network network(rng, {2, 16, 16, 1});
  std::vector<Scalar> parameters = network.parameters();
  const std::int64_t steps = lab.steps(100);
  lab.doing(fmt::format("two moons: {} steps of {} parameters", steps,
                        parameters.size()));
  Table table;
  table.title = fmt::format("two moons, {} points, {} parameters", kPoints,
                            parameters.size());
  table.columns = {"step", "loss", "accuracy, %"};
  plot::Curves curves;
  curves.title = "two moons: loss while 337 numbers are learned";
  curves.y_name = "loss: margin and squares of the parameters";
  curves.series = {{"loss", {}}};
  double accuracy = 0;
  for (std::int64_t k = 0; k < steps; ++k) {
    lab.check();
    const Measured measured = measure(network, points);
    accuracy = measured.accuracy;
    if (k % 10 == 0 || k + 1 == steps)
      table.rows.push_back({std::to_string(k),
                            fmt::format("{:.5f}", measured.loss.data()),
                            fmt::format("{:.0f}", accuracy)});
    curves.series[0].points.push_back(
        {static_cast<double>(k), measured.loss.data()});
    if (k + 1 == steps) break;  // what is drawn is what was measured last
    for (Scalar& p : parameters) p.set_gradient(0);
    measured.loss.backward();
    const double rate = 1 - 0.9 * static_cast<double>(k) / 100;
    for (Scalar& p : parameters) p.set_data(p.data() - rate * p.gradient());
  }
  report.tables.push_back(table);
  report.pictures.push_back({"loss", plot::draw_curves(curves)});
  report.pictures.push_back(
      {"moons", boundary(network, points, accuracy, lab.quick())});
  report.see =
      "Each number knows what it was made of and how much each of those moves "
      "it; backward multiplies along every way from the result and adds the "
      "ways up. That is all that training needs: by the gradients of 337 "
      "numbers a network bends its line between the moons until it has every "
      "point on its side.";
  return report;
}

const RegisterExperiment kMicrograd({"micrograd",
                                     "How does a gradient come about?", run});

}  // namespace
}  // namespace qkv::cli::lab
