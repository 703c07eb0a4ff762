// Differentiation of single numbers, after micrograd: every number remembers
// what it was made of and how much each of those moves it. What the library
// does with tensors, small enough to read at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::cli::lab {

class Scalar {
 public:
  Scalar(double data = 0, std::string name = "");  // NOLINT: 2 * x reads well

  double data() const { return node_->data; }
  double gradient() const { return node_->gradient; }
  const std::string& name() const { return node_->name; }
  Scalar named(std::string name) const;  // the same number
  void set_data(double data) { node_->data = data; }
  void set_gradient(double gradient) { node_->gradient = gradient; }

  // Adds d this / d x to the gradient of every x that this was made of, and 1
  // to its own.
  void backward() const;

  // What it was made of and by what; empty for a given number.
  std::vector<Scalar> from() const;
  std::string_view operation() const { return node_->operation; }
  // Everything that it was made of and itself, inputs before what they make.
  std::vector<Scalar> history() const;

  bool same(const Scalar& other) const { return node_ == other.node_; }

  friend Scalar operator+(const Scalar& a, const Scalar& b);
  friend Scalar operator*(const Scalar& a, const Scalar& b);
  friend Scalar operator-(const Scalar& a);
  friend Scalar operator-(const Scalar& a, const Scalar& b);
  friend Scalar operator/(const Scalar& a, const Scalar& b);
  friend Scalar power(const Scalar& a, double exponent);
  friend Scalar relu(const Scalar& a);
  friend Scalar tanh(const Scalar& a);
  friend Scalar exp(const Scalar& a);

 private:
  struct Input;
  struct Node {
    double data = 0, gradient = 0;
    std::uint64_t order = 0;  // what is made later has a larger one
    std::string_view operation;
    std::string name;
    std::vector<Input> inputs;
  };
  struct Input {
    std::shared_ptr<Node> node;
    double slope;  // d output / d input
  };

  explicit Scalar(std::shared_ptr<Node> node) : node_(std::move(node)) {}
  static Scalar made(double data, std::string_view operation,
                     std::vector<Input> inputs);

  std::shared_ptr<Node> node_;
};

}  // namespace qkv::cli::lab
