#include "core/tape.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "core/accumulate.h"
#include "core/check.h"
#include "core/op_times.h"
#include "core/tensor_impl.h"
#include "qkv/autograd.h"

namespace qkv {
namespace {

thread_local bool t_grad_enabled = true;
std::atomic<std::uint64_t> g_order{0};

std::vector<std::string_view>& op_names() {
  static auto* names = new std::vector<std::string_view>;
  return *names;
}

bool needs_gradient(const Tensor& x) {
  return x && (x.impl()->node || x.impl()->requires_grad);
}

// Nodes whose output has a gradient, the latest operation on top.
struct Queue {
  std::vector<Node*, PoolAllocator<Node*>> heap;
  static bool earlier(const Node* a, const Node* b) {
    return a->order < b->order;
  }
  void push(Node* node) {
    if (node->queued) return;
    node->queued = true;
    heap.push_back(node);
    std::push_heap(heap.begin(), heap.end(), earlier);
  }
  Node* pop() {
    std::pop_heap(heap.begin(), heap.end(), earlier);
    Node* node = heap.back();
    heap.pop_back();
    node->queued = false;
    return node;
  }
};

// Whether nobody else holds x or looks at its memory.
bool sole(const Tensor& x) {
  return x.impl()->references.load(std::memory_order_acquire) == 1 &&
         x.impl()->storage->references.load(std::memory_order_acquire) == 1;
}

void add_to(Tensor& sum, Tensor value) {
  if (!sum) {
    sum = std::move(value);
    return;
  }
  if (!sole(sum)) sum = sum.clone();
  accumulate(sum, value);
}

class NoBackwardNode final : public Node {
 public:
  NoBackwardNode(const Op& op, const char* why) : op_(op), why_(why) {}
  std::string_view name() const override { return op_.name(); }
  void backward(const Tensor&, Gradients&) override {
    fail_input("[{}] cannot be differentiated: {}", op_.name(), why_);
  }
  void release_saved() override {}

 private:
  const Op& op_;
  const char* why_;
};

class CustomNode final : public Node {
 public:
  using Gradient = std::function<std::vector<Tensor>(const Tensor&)>;
  CustomNode(std::string name, Gradient gradient,
             const std::vector<Tensor>& inputs)
      : name_(std::move(name)), gradient_(std::move(gradient)) {
    for (const Tensor& input : inputs)
      inputs_.push_back({input.shape(), input.dtype()});
  }
  std::string_view name() const override { return name_; }
  void backward(const Tensor& gradient, Gradients& inputs) override {
    std::vector<Tensor> results = gradient_(gradient);
    if (results.size() != inputs_.size())
      fail_input("[{}] its backward returned {} gradients for {} inputs", name_,
                 results.size(), inputs_.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!inputs.wants(static_cast<int>(i))) continue;
      if (!results[i])
        fail_input(
            "[{}] its backward returned nothing for input {}, which "
            "needs a gradient",
            name_, i);
      const auto& [shape, dtype] = inputs_[i];
      if (results[i].shape() != shape || results[i].dtype() != dtype)
        fail_input(
            "[{}] its backward returned {} {} for input {}, which is {} {}",
            name_, name_of(results[i].dtype()), results[i].shape().str(), i,
            name_of(dtype), shape.str());
      // What the user's function keeps it may also write to again.
      inputs.add(static_cast<int>(i),
                 sole(results[i]) ? std::move(results[i]) : results[i].clone());
    }
  }
  void release_saved() override { gradient_ = nullptr; }

 private:
  std::string name_;
  Gradient gradient_;
  struct Input {
    Shape shape;
    DType dtype;
  };
  std::vector<Input> inputs_;
};

void run_backward(const Tensor& output, Tensor gradient, bool keep_graph) {
  NoGrad no_grad;
  Node* root = output.impl()->node.get();
  if (!root) {
    if (!output.requires_grad())
      fail_input(
          "[backward] nothing that led to this tensor requires a gradient");
    Edge leaf{{}, output};
    Gradients(std::span(&leaf, 1)).add(0, std::move(gradient));
    return;
  }
  OpTimes* const times = OpTimes::current();
  if (times) times->restart();
  Queue queue;
  root->gradient = std::move(gradient);
  queue.push(root);
  Node* node = root;
  try {
    while (!queue.heap.empty()) {
      node = queue.pop();
      if (node->spent)
        fail_input(
            "[backward] ran twice over '{}': its saved values are gone; pass "
            "keep_graph to the first backward",
            node->name());
      const Tensor g = std::move(node->gradient);
      for (Edge& edge : node->edges) edge.given = false;
      Gradients gradients(node->edges, !keep_graph);
      node->backward(g, gradients);
      for (Edge& edge : node->edges) {
        if (edge.wanted() && !edge.given)
          fail_internal("[{}] its backward gave an input no gradient",
                        node->name());
        if (edge.node) queue.push(edge.node.get());
      }
      if (!keep_graph) {
        node->spent = true;
        node->release_saved();
      }
      if (times) times->ended(node->name(), true);
    }
  } catch (...) {
    // What was collected on the way must not leak into a later backward.
    node->gradient = Tensor();
    for (Edge& edge : node->edges)
      if (edge.node) edge.node->gradient = Tensor();
    for (Node* waiting : queue.heap) {
      waiting->queued = false;
      waiting->gradient = Tensor();
    }
    throw;
  }
}

}  // namespace

Op::Op(std::string_view name) : name_(name) { op_names().push_back(name); }

std::vector<std::string_view> registered_ops() {
  auto names = op_names();
  std::sort(names.begin(), names.end());
  return names;
}

void Gradients::add(int i, Tensor gradient) {
  Edge& edge = edges_[i];
  edge.given = true;
  if (!gradient.contiguous()) gradient = gradient.clone();
  if (edge.node) {
    add_to(edge.node->gradient, std::move(gradient));
  } else if (edge.leaf) {
    const Tensor& leaf = edge.leaf;
    if (gradient.shape() != leaf.shape() || gradient.dtype() != leaf.dtype())
      fail_internal("input {} is {} {}, but its gradient is {} {}", i,
                    name_of(leaf.dtype()), leaf.shape().str(),
                    name_of(gradient.dtype()), gradient.shape().str());
    // A leaf's gradient is the user's: it shares memory with nothing.
    Tensor& sum = leaf.impl()->grad;
    if (!sum && !sole(gradient)) gradient = gradient.clone();
    add_to(sum, std::move(gradient));
  }
}

void Gradients::add_part(int i, const Shape& whole, int axis, std::int64_t from,
                         const Tensor& gradient) {
  Edge& edge = edges_[i];
  edge.given = true;
  if (!edge.wanted()) return;
  if (edge.leaf && whole != edge.leaf.shape())
    fail_internal("input {} is {}, but its gradient is a part of {}", i,
                  edge.leaf.shape().str(), whole.str());
  Tensor& sum = edge.node ? edge.node->gradient : edge.leaf.impl()->grad;
  if (!sum)
    sum = Tensor::zeros(whole, gradient.dtype());
  else if (!sole(sum))
    sum = sum.clone();
  accumulate_part(sum, axis, from, gradient);
}

Tensor Gradients::collected(int i) const {
  const Edge& edge = edges_[i];
  if (!edge.node || !edge.node->gradient || !sole(edge.node->gradient))
    return {};
  return edge.node->gradient;
}

void Node::destroy(Node* node) noexcept {
  // A node holds the nodes before it: freeing a long graph by recursion would
  // overflow the stack, so the chain is taken apart in a loop. The list has no
  // destructor: a static tensor may go after the thread's own variables.
  thread_local Node* dead = nullptr;
  thread_local bool running = false;
  node->next_dead = dead;
  dead = node;
  if (running) return;
  running = true;
  while (dead) {
    Node* next = dead;
    dead = next->next_dead;
    delete next;
  }
  running = false;
}

bool needs_record(std::initializer_list<const Tensor*> inputs) {
  if (!t_grad_enabled) return false;
  for (const Tensor* x : inputs)
    if (needs_gradient(*x)) return true;
  return false;
}

bool needs_record(std::span<const Tensor> inputs) {
  if (!t_grad_enabled) return false;
  for (const Tensor& x : inputs)
    if (needs_gradient(x)) return true;
  return false;
}

void attach(Node* node, Tensor& output, std::span<const Tensor> inputs) {
  node->order = ++g_order;
  node->edges.reserve(inputs.size());
  for (const Tensor& x : inputs) {
    Edge edge;
    if (x) {
      if (x.impl()->node)
        edge.node = x.impl()->node;
      else if (x.impl()->requires_grad)
        edge.leaf = x;
    }
    node->edges.push_back(std::move(edge));
  }
  output.impl()->node = Ref<Node>::adopt(node);
  if (OpTimes* times = OpTimes::current()) times->ended(node->name(), false);
}

void record_without_backward(const Op& op, Tensor& output,
                             std::initializer_list<Tensor> inputs,
                             const char* why) {
  std::span<const Tensor> span(inputs.begin(), inputs.size());
  if (needs_record(span)) attach(new NoBackwardNode(op, why), output, span);
}

void backward(const Tensor& loss, bool keep_graph) {
  if (!loss) fail_input("[backward] the tensor is undefined");
  if (loss.numel() != 1)
    fail_input(
        "[backward] starts from one number, not from shape {}; use "
        "backward_from with a gradient",
        loss.shape().str());
  run_backward(loss, Tensor::full(loss.shape(), 1.0, loss.dtype()), keep_graph);
}

void backward_from(const Tensor& output, const Tensor& grad, bool keep_graph) {
  if (!output || !grad) fail_input("[backward_from] a tensor is undefined");
  if (output.shape() != grad.shape() || output.dtype() != grad.dtype())
    fail_input("[backward_from] gradient {} {} does not match output {} {}",
               name_of(grad.dtype()), grad.shape().str(),
               name_of(output.dtype()), output.shape().str());
  run_backward(output, grad.clone(), keep_graph);
}

NoGrad::NoGrad() : before_(t_grad_enabled) { t_grad_enabled = false; }
NoGrad::~NoGrad() { t_grad_enabled = before_; }
EnableGrad::EnableGrad() : before_(t_grad_enabled) { t_grad_enabled = true; }
EnableGrad::~EnableGrad() { t_grad_enabled = before_; }
bool grad_enabled() { return t_grad_enabled; }

Tensor custom_op(const std::string& name, const Tensor& output,
                 const std::vector<Tensor>& inputs,
                 std::function<std::vector<Tensor>(const Tensor&)> gradient) {
  Tensor result = output.detach();
  if (needs_record(inputs))
    attach(new CustomNode(name, std::move(gradient), inputs), result, inputs);
  return result;
}

}  // namespace qkv
