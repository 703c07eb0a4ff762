#include "cli/lab/scalar.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace qkv::cli::lab {
namespace {

std::uint64_t next_order() {
  static std::uint64_t order = 0;
  return order++;
}

}  // namespace

Scalar::Scalar(double data, std::string name)
    : node_(std::make_shared<Node>()) {
  node_->data = data;
  node_->order = next_order();
  node_->name = std::move(name);
}

Scalar Scalar::made(double data, std::string_view operation,
                    std::vector<Input> inputs) {
  Scalar scalar(data);
  scalar.node_->operation = operation;
  scalar.node_->inputs = std::move(inputs);
  return scalar;
}

Scalar Scalar::named(std::string name) const {
  node_->name = std::move(name);
  return *this;
}

std::vector<Scalar> Scalar::from() const {
  std::vector<Scalar> scalars;
  for (const Input& input : node_->inputs)
    scalars.push_back(Scalar(input.node));
  return scalars;
}

// Sorted by when they were made, which puts inputs before what they make.
std::vector<Scalar> Scalar::history() const {
  std::vector<Scalar> found, open{*this};
  std::unordered_set<const Node*> seen{node_.get()};
  while (!open.empty()) {
    found.push_back(open.back());
    open.pop_back();
    for (const Input& input : found.back().node_->inputs)
      if (seen.insert(input.node.get()).second)
        open.push_back(Scalar(input.node));
  }
  std::sort(found.begin(), found.end(), [](const Scalar& a, const Scalar& b) {
    return a.node_->order < b.node_->order;
  });
  return found;
}

// The chain rule, from the end: when it comes to a number, all that the number
// went into has given it its share. Shares of one call are collected apart from
// the gradients that are there already: those must not be passed on again.
void Scalar::backward() const {
  const std::vector<Scalar> all = history();
  std::vector<double> before;
  for (const Scalar& x : all) {
    before.push_back(x.node_->gradient);
    x.node_->gradient = 0;
  }
  node_->gradient = 1;
  for (auto x = all.rbegin(); x != all.rend(); ++x)
    for (const Input& input : x->node_->inputs)
      input.node->gradient += input.slope * x->node_->gradient;
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].node_->gradient += before[i];
}

Scalar operator+(const Scalar& a, const Scalar& b) {
  return Scalar::made(a.data() + b.data(), "+", {{a.node_, 1}, {b.node_, 1}});
}

Scalar operator*(const Scalar& a, const Scalar& b) {
  return Scalar::made(a.data() * b.data(), "×",
                      {{a.node_, b.data()}, {b.node_, a.data()}});
}

Scalar operator-(const Scalar& a) {
  return Scalar::made(-a.data(), "−", {{a.node_, -1}});
}

Scalar operator-(const Scalar& a, const Scalar& b) {
  return Scalar::made(a.data() - b.data(), "−", {{a.node_, 1}, {b.node_, -1}});
}

Scalar operator/(const Scalar& a, const Scalar& b) {
  const double quotient = a.data() / b.data();
  return Scalar::made(
      quotient, "÷",
      {{a.node_, 1 / b.data()}, {b.node_, -quotient / b.data()}});
}

Scalar power(const Scalar& a, double exponent) {
  return Scalar::made(std::pow(a.data(), exponent), "pow",
                      {{a.node_, exponent * std::pow(a.data(), exponent - 1)}});
}

Scalar relu(const Scalar& a) {
  const bool open = a.data() > 0;
  return Scalar::made(open ? a.data() : 0, "relu",
                      {{a.node_, open ? 1.0 : 0.0}});
}

Scalar tanh(const Scalar& a) {
  const double t = std::tanh(a.data());
  return Scalar::made(t, "tanh", {{a.node_, 1 - t * t}});
}

Scalar exp(const Scalar& a) {
  const double e = std::exp(a.data());
  return Scalar::made(e, "exp", {{a.node_, e}});
}

}  // namespace qkv::cli::lab
