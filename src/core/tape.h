// The tape: how an operation records itself so that backward() finds it.
//
// An operation computes its output, then calls
//   record(op, output, {inputs…}, Saved{…}, backward_function);
// Saved holds what the backward needs; it is freed when the backward has run.
// To save the output itself, save output.detach(): the handle with history
// would keep its own node alive for ever.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/pool.h"
#include "core/ref.h"
#include "qkv/tensor.h"

namespace qkv {

// A registered operation: a static in the file that implements it.
class Op {
 public:
  explicit Op(std::string_view name);
  std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};
// All of them, sorted: the completeness test of the op cases reads it.
std::vector<std::string_view> registered_ops();

class Node;

// Where a gradient goes: to the node that made an input, or to a leaf.
struct Edge {
  Ref<Node> node;
  Tensor leaf;
  bool given = false;  // by the backward that runs now
  bool wanted() const { return node || leaf; }
};

// Collects an operation's input gradients in its backward.
class Gradients {
 public:
  explicit Gradients(std::span<Edge> edges, bool last = false)
      : edges_(edges), last_(last) {}

  // Whether nothing will ask for what was saved again: a saved tensor may then
  // be moved into add(), which spares a leaf a copy of it.
  bool last() const { return last_; }

  // Whether input i needs a gradient: if not, do not compute it.
  bool wants(int i) const { return edges_[i].wanted(); }
  // Gives input i its gradient, of its shape and dtype. The same tensor may go
  // to several inputs: who shares memory is copied on writing. Every wanted
  // input must be given one: backward() throws where one is forgotten.
  void add(int i, Tensor gradient);
  // Gives input i, of shape `whole`, what is `gradient` from `from` on along an
  // axis and zero elsewhere: a tensor read part by part, as a sequence is by a
  // recurrent network, costs as much as its parts.
  void add_part(int i, const Shape& whole, int axis, std::int64_t from,
                const Tensor& gradient);
  // What input i has collected so far from the operations after this one, for a
  // backward that can add to it where it lies; undefined where there is nothing
  // or it may not be written to. After adding, call added(i) instead of add.
  Tensor collected(int i) const;
  void added(int i) { edges_[i].given = true; }

 private:
  std::span<Edge> edges_;
  bool last_;
};

class Node : public Pooled {
 public:
  virtual ~Node() = default;
  virtual std::string_view name() const = 0;
  virtual void backward(const Tensor& gradient, Gradients& inputs) = 0;
  virtual void release_saved() = 0;

  static void destroy(Node* node) noexcept;

  std::atomic<int> references{1};
  std::uint64_t order = 0;    // later operations have larger ones
  bool spent = false;         // its backward ran and its saved state is gone
  bool queued = false;        // backward() will come to it
  Tensor gradient;            // of its output, collected so far
  Node* next_dead = nullptr;  // in the list of nodes about to be freed
  std::vector<Edge, PoolAllocator<Edge>> edges;
};

// True when recording is on and some input needs a gradient.
bool needs_record(std::initializer_list<const Tensor*> inputs);
bool needs_record(std::span<const Tensor> inputs);

void attach(Node* node, Tensor& output, std::span<const Tensor> inputs);

template <class Saved, class Backward>
class RecordedNode final : public Node {
 public:
  RecordedNode(const Op& op, Saved saved, Backward backward)
      : op_(op), saved_(std::move(saved)), backward_(std::move(backward)) {}
  std::string_view name() const override { return op_.name(); }
  void backward(const Tensor& gradient, Gradients& inputs) override {
    backward_(saved_, gradient, inputs);
  }
  void release_saved() override { saved_ = Saved(); }

 private:
  const Op& op_;
  Saved saved_;
  Backward backward_;
};

// backward is void(const Saved&, const Tensor& gradient, Gradients&); it may
// take a Saved& to give away what it saved.
template <class Saved, class Backward>
void record(const Op& op, Tensor& output, std::span<const Tensor> inputs,
            Saved saved, Backward backward) {
  if (!needs_record(inputs)) return;
  attach(new RecordedNode<Saved, Backward>(op, std::move(saved),
                                           std::move(backward)),
         output, inputs);
}
template <class Saved, class Backward>
void record(const Op& op, Tensor& output, std::initializer_list<Tensor> inputs,
            Saved saved, Backward backward) {
  record(op, output, std::span<const Tensor>(inputs.begin(), inputs.size()),
         std::move(saved), std::move(backward));
}

// For an output that cannot be differentiated: reaching it in backward()
// throws, naming the operation and saying why. Never a silent cut.
void record_without_backward(const Op& op, Tensor& output,
                             std::initializer_list<Tensor> inputs,
                             const char* why);

}  // namespace qkv
