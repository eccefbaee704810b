// Nodes and what they keep: ids, saved tensors with their version, a destructor that takes apart
// chains of any length without recursion.
#include "gradus/engine/graph.h"

#include <atomic>
#include <cstdlib>

#include "gradus/engine/apply.h"

namespace gradus {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// Nodes that die while another one is being deleted wait in a list until it is done, so that no
/// chain makes the stack deep.
thread_local Node* to_die = nullptr;
thread_local bool deleting = false;

}  // namespace

bool formula_wanted() {
  static const bool always = [] {
    const char* value = std::getenv("GRADUS_FORMULA");
    return value && *value && *value != '0';
  }();
  return always || thread_state.formula;
}

void NodePtr::hold() {
  if (node_) node_->references_.fetch_add(1, std::memory_order_relaxed);
}

void NodePtr::let_go() {
  if (node_->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  node_->next_to_die_ = std::exchange(to_die, node_);
  if (std::exchange(deleting, true)) return;
  while (Node* next = to_die) {
    to_die = next->next_to_die_;
    delete next;
  }
  deleting = false;
}

Node::Node(const Tensor& output, const char* op_name)
    : id(next_id()), shape(output.shape()), dtype(output.dtype()), op_name(op_name) {}

void Node::set_op(Op* recipe) {
  op = recipe;
  if (op) op->node_ = this;
}

const char* Node::name() const { return op_name ? op_name : "leaf"; }

Node::Extra& Node::extra() {
  if (!extra_) extra_ = std::make_unique<Extra>();
  return *extra_;
}

NodePtr make_leaf(const Tensor& x) { return NodePtr(new Node(x)); }

bool wants_gradient(std::span<const Tensor* const> inputs) {
  if (!GradMode::enabled()) return false;
  for (const Tensor* x : inputs)
    if (x->requires_grad()) return true;
  return false;
}

// ---- Saved ----

Saved::Saved(const Tensor& x) {
  if (!x.defined()) return;
  const NodePtr& node = x.node();
  if (GradMode::enabled() && node && node->op && node->op->cheap_to_remake()) {
    tensor_ = x.without_numbers();
    producer_ = node;
    return;
  }
  tensor_ = x;
  version_ = x.storage()->version();
}

Tensor Saved::value() const {
  if (producer_) {
    require<GraphError>(producer_->op != nullptr, "backward needs the output of ",
                        producer_->name(), " (node ", producer_->id,
                        ") again, but another backward used that node up: ",
                        "call the first backward with {.keep_graph = true}");
    Tensor remade = producer_->op->remake();
    remade.set_node(producer_);
    return remade;
  }
  if (tensor_.defined() && tensor_.storage()->version() != version_) {
    const SourceLocation by = tensor_.storage()->last_write();
    fail<GraphError>("a tensor ", shape(), " that backward needs was saved at version ", version_,
                     " and has since been written to (now version ", tensor_.storage()->version(),
                     ") at ", by.file_name(), ":", by.line(),
                     ": write before the forward, or to a clone()");
  }
  return tensor_;
}

Tensor Saved::take() {
  Tensor x = value();
  if (thread_state.backward && thread_state.backward->last) tensor_ = tensor_.without_numbers();
  return x;
}

// ---- Gradient and Op ----

Gradient Gradient::slice(Tensor part, int axis, std::int64_t start, std::int64_t step) {
  Gradient gradient(std::move(part));
  gradient.region_ = std::make_shared<Region>(Region{axis, start, step, {}});
  return gradient;
}

Gradient Gradient::rows(Tensor part, Tensor index) {
  Gradient gradient(std::move(part));
  gradient.region_ = std::make_shared<Region>(Region{0, 0, 1, std::move(index)});
  return gradient;
}

Gradients Op::backward(const Tensor&) {
  fail<GraphError>(name(), " has no derivative: detach() its input or output");
}

bool Op::wants(int input) const {
  const BackwardCall* call = thread_state.backward;
  return !call || input >= 64 || (call->wanted >> input & 1) != 0;
}

const Shape& Op::shape_of(int input) const {
  return node_->inputs[static_cast<std::size_t>(input)]->shape;
}

Tensor Op::attached(const Saved& output) const {
  Tensor y = output.value();
  y.set_node(GradMode::enabled() ? NodePtr(node_) : nullptr);
  return y;
}

}  // namespace gradus
