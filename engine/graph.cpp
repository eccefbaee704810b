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

/// What a dying node leaves behind. Nodes that die while another one's remains are being cleared
/// add theirs to the list instead of clearing them at once, so that no chain makes the stack deep.
struct Remains {
  std::vector<std::shared_ptr<Node>> inputs;
  std::unique_ptr<Op> op;
  std::unique_ptr<Node::Extra> extra;
};
thread_local std::vector<Remains>* clearing = nullptr;

}  // namespace

bool formula_wanted() {
  static const bool always = [] {
    const char* value = std::getenv("GRADUS_FORMULA");
    return value && *value && *value != '0';
  }();
  return always || thread_state.formula;
}

Node::Node(std::unique_ptr<Op> recipe, const Tensor& output, std::span<const Tensor* const> from)
    : id(next_id()),
      op(std::move(recipe)),
      shape(output.shape()),
      dtype(output.dtype()),
      op_name(op ? op->name() : nullptr) {
  inputs.reserve(from.size());
  for (const Tensor* x : from) inputs.push_back(x->requires_grad() ? x->node() : nullptr);
  if (op) op->node_ = this;
}

Node::~Node() {
  if (inputs.empty() && !op && !extra_) return;
  Remains own{std::move(inputs), std::move(op), std::move(extra_)};
  if (clearing) {
    clearing->push_back(std::move(own));
    return;
  }
  std::vector<Remains> list;
  clearing = &list;
  { const Remains first = std::move(own); }
  while (!list.empty()) {
    const Remains next = std::move(list.back());
    list.pop_back();
  }
  clearing = nullptr;
}

const char* Node::name() const { return op_name ? op_name : "leaf"; }

Node::Extra& Node::extra() {
  if (!extra_) extra_ = std::make_unique<Extra>();
  return *extra_;
}

std::shared_ptr<Node> make_leaf(const Tensor& x) {
  return std::make_shared<Node>(nullptr, x, std::span<const Tensor* const>{});
}

bool wants_gradient(std::span<const Tensor* const> inputs) {
  if (!GradMode::enabled()) return false;
  for (const Tensor* x : inputs)
    if (x->requires_grad()) return true;
  return false;
}

// ---- Saved ----

Saved::Saved(const Tensor& x) {
  if (!x.defined()) return;
  const std::shared_ptr<Node>& node = x.node();
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

Tensor Op::attached(const Saved& output) const {
  Tensor y = output.value();
  y.set_node(node_ && GradMode::enabled() ? node_->shared_from_this() : nullptr);
  return y;
}

}  // namespace gradus
