// The backward pass. Visits nodes in decreasing order of id. Inputs are created before outputs, so
// a node's gradient is complete when it is visited.
//
// Intermediate gradients are stored in the Walk, not in the nodes, because an Op::backward or a
// hook may start another pass. Leaves receive their gradients at the end, and only if nothing
// throws. A leaf with a post-accumulate hook receives its gradient as soon as it is complete, so
// that the hook can free it.

#include "gradus/engine/backward.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <utility>

#include "gradus/engine/accumulate.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/engine/strided.h"

namespace gradus {
namespace {

/// State of one node during the backward pass.
struct Step {
  Node* node;
  std::size_t first_edge;      // index of the first input's edge in Walk::edges_
  std::unique_ptr<Tensor> dy;  // accumulated gradient
  std::uint32_t uses = 0;      // number of unvisited consumers
  bool wanted = false;         // a gradient must flow through this node

  Tensor& gradient() {
    if (!dy) dy = std::make_unique<Tensor>();
    return *dy;
  }
  Tensor take() { return std::move(*std::exchange(dy, nullptr)); }
};

/// With create_graph, throws if backward recorded no op and returned neither dy nor zeros. Such a
/// backward must have called a kernel directly, so second derivatives would silently lack its
/// contribution.
void check_differentiable(const Node& node, const Tensor& dy, const Gradients& dx) {
  for (const Gradient& each : dx) {
    if (!each.defined() || each.part().storage() == dy.storage() || each.part().node()) continue;
    const std::vector<double> values = kernel::convert(each.part(), Dtype::f64).to_vector<double>();
    require<GraphError>(std::all_of(values.begin(), values.end(), [](double x) { return x == 0; }),
                        node.name(), " (node ", node.id,
                        ") cannot be differentiated twice: its backward recorded no ops, so ",
                        "create_graph would lose its contribution. Compute the gradients with ops ",
                        "if GradMode::enabled().");
  }
}

class Walk {
 public:
  Walk(const std::vector<Tensor>& outputs, bool create_graph, bool keep_graph);
  ~Walk() {
    Observers::notify([&](Observer& o) { o.on_walk_end(); });
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  Step* find(const Node* node);  // nullptr if no output depends on `node`
  void mark_leaves();
  void mark_paths(const std::vector<Tensor>& inputs);
  void seed(std::size_t k, const Tensor& output, const Tensor& gradient);
  void run();                // stores dy in the steps of leaves and wanted inputs
  void accumulate_leaves();  // moves dy to the leaves' grad()
  void reserve_release();    // allocates the memory of release()
  void release() noexcept;

  std::vector<Step> steps;  // in order of descending ids

 private:
  Step& input(const Step& step, std::size_t k) { return steps[edges_[step.first_edge + k]]; }
  bool complete(Step& step);
  void visit(Step& step);
  void finish_uses(Step& step);
  void accumulate_leaf(Step& step) const;
  Walk& outermost();
  bool find_wanted(const Step& step);

  std::vector<std::uint32_t> edges_;  // indices of the outputs' steps, then of each step's inputs
  bool create_graph_, keep_graph_;
  bool records_ = GradMode::enabled();  // the mode in which leaf hooks run
  bool to_inputs_ = false;              // true in grad(), whose targets may be intermediate tensors
  std::vector<const Node*> targets_;
  std::vector<std::uint8_t> wanted_;  // [k]: the visited node's input k needs a gradient
  /// Inputs that nested passes released. The outermost pass keeps them alive, because its steps
  /// point to them.
  std::vector<NodePtr> released_;
  const Node* running_ = nullptr;
  Walk* outer_;  // the enclosing pass on this thread
  ScopedValue<Walk*> entered_;
};

thread_local Walk* innermost_walk = nullptr;

/// Collects the nodes with a priority queue, which contains a node once per consumer.
Walk::Walk(const std::vector<Tensor>& outputs, bool create_graph, bool keep_graph)
    : create_graph_(create_graph),
      keep_graph_(keep_graph || create_graph),
      outer_(innermost_walk),
      entered_(innermost_walk, this) {
  struct Edge {
    Node* node;
    std::size_t at;
  };
  const auto older = [](const Edge& a, const Edge& b) { return a.node->id < b.node->id; };
  std::priority_queue<Edge, std::vector<Edge>, decltype(older)> queue(older);
  const auto add_edge = [&](Node* node) {
    if (node) queue.push({node, edges_.size()});
    edges_.push_back(0);
  };
  for (const Tensor& y : outputs) add_edge(y.node().get());
  while (!queue.empty()) {
    const Edge edge = queue.top();
    queue.pop();
    if (steps.empty() || steps.back().node != edge.node) {
      steps.push_back({edge.node, edges_.size(), nullptr});
      for (const NodePtr& input : edge.node->inputs) add_edge(input.get());
    }
    edges_[edge.at] = static_cast<std::uint32_t>(steps.size() - 1);
    ++steps.back().uses;
  }
  Observers::notify([&](Observer& o) { o.on_walk_begin(outputs, create_graph); });
}

Step* Walk::find(const Node* node) {
  const auto newer = [](const Step& step, std::uint64_t id) { return step.node->id > id; };
  const auto at = std::lower_bound(steps.begin(), steps.end(), node->id, newer);
  return at != steps.end() && at->node == node ? &*at : nullptr;
}

void Walk::mark_leaves() {
  for (Step& step : steps) step.wanted = step.node->requires_grad;  // false only for frozen leaves
}

void Walk::mark_paths(const std::vector<Tensor>& inputs) {
  to_inputs_ = true;
  for (const Tensor& x : inputs) {
    targets_.push_back(x.node().get());
    if (Step* step = find(x.node().get())) step->wanted = true;
  }
  for (std::size_t i = steps.size(); i-- > 0;)  // in order of ascending ids: inputs first
    if (find_wanted(steps[i])) steps[i].wanted = true;
}

void Walk::seed(std::size_t k, const Tensor& output, const Tensor& gradient) {
  Step& step = steps[edges_[k]];
  --step.uses;
  Tensor& dy = step.gradient();
  accumulate(dy, output.shape(), output.dtype(), gradient, create_graph_);
  Observers::notify([&](Observer& o) { o.on_grad_seed(*output.node(), dy); });
}

void Walk::run() {
  const GradMode mode(create_graph_);
  for (Step& step : steps) {
    if (step.wanted && step.dy && complete(step)) visit(step);
    if (!to_inputs_) finish_uses(step);
  }
}

bool has_post_accumulate_hooks(const Node& node) {
  const Node::Extra* extra = node.extra_or_null();
  return extra && !extra->post_accumulate_hooks.empty();
}

/// A leaf with hooks receives its gradient when its last consumer is done.
void Walk::finish_uses(Step& step) {
  if (step.dy && has_post_accumulate_hooks(*step.node)) accumulate_leaf(step);
  for (std::size_t k = 0; k < step.node->inputs.size(); ++k) {
    const NodePtr& node = step.node->inputs[k];
    if (!node || !has_post_accumulate_hooks(*node)) continue;
    Step& leaf = input(step, k);
    if (--leaf.uses > 0 || !leaf.dy) continue;
    complete(leaf);
    accumulate_leaf(leaf);
  }
}

/// Sets wanted_. Returns true if any input is wanted.
bool Walk::find_wanted(const Step& step) {
  const std::span<NodePtr> inputs = step.node->inputs;
  wanted_.resize(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) wanted_[k] = inputs[k] && input(step, k).wanted;
  return std::find(wanted_.begin(), wanted_.end(), 1) != wanted_.end();
}

/// Runs the hooks, each on the previous result. Hooks added meanwhile run in the next pass.
void run_hooks(const Node& node, Tensor& dy) {
  const std::vector<std::function<Tensor(const Tensor&)>> hooks = node.extra_or_null()->hooks;
  for (const auto& hook : hooks) {
    const Tensor changed = hook(dy);
    if (!changed.defined()) continue;
    require<ShapeError>(changed.shape() == node.shape, "register_hook: the hook of ", node.name(),
                        " (node ", node.id, ") returned shape ", changed.shape(),
                        " for a gradient of shape ", node.shape,
                        ". Return a gradient of the same shape.");
    require<DtypeError>(changed.dtype() == node.dtype, "register_hook: the hook of ", node.name(),
                        " (node ", node.id, ") returned ", changed.dtype(), " for a gradient of ",
                        node.dtype, ". Return a gradient of the same dtype.");
    const Tensor before = std::exchange(dy, changed);
    Observers::notify([&](Observer& o) { o.on_hook(node, before, dy); });
  }
}

/// Runs the hooks on a complete gradient. Returns false if the pass stops at this node.
bool Walk::complete(Step& step) {
  Node& node = *step.node;
  if (const Node::Extra* extra = node.extra_or_null()) {
    run_hooks(node, *step.dy);
    if (extra->retains_grad && node.op) node.extra().grad = kernel::copy(*step.dy);
  }
  if (!node.op_name) return false;  // a leaf keeps its gradient
  require<GraphError>(!node.used, "backward: ", node.name(), " (node ", node.id,
                      ") was used by an earlier backward, which freed its saved tensors. ",
                      "Pass {.keep_graph = true} to the first one, or run the forward again.");
  for (const Walk* walk = outer_; walk; walk = walk->outer_)
    require<GraphError>(walk->running_ != &node, "backward: ", node.name(), " (node ", node.id,
                        ") is running its backward, which started this nested backward. Detach ",
                        "the nested outputs from that node.");
  return find_wanted(step);  // false for a target without wanted inputs
}

void Walk::visit(Step& step) {
  Node& node = *step.node;
  const bool is_target =
      to_inputs_ && std::find(targets_.begin(), targets_.end(), &node) != targets_.end();
  const ScopedValue<const Node*> runs(running_, &node);
  const Tensor dy = is_target ? *step.dy : step.take();
  Observers::notify([&](Observer& o) { o.on_backward_begin(node, dy); });
  const ScopedValue<const Node*> running(thread_state.backward, &node);
  const std::uint64_t operations = thread_state.operations;
  Gradients dx = node.op->backward(dy, {wanted_, !keep_graph_});
  require<GraphError>(dx.size() == node.inputs.size(), node.name(), ": backward returned ",
                      dx.size(), " gradients for ", node.inputs.size(),
                      " inputs. Return one gradient per input.");
  for (std::size_t k = 0; k < dx.size(); ++k)
    if (!wanted_[k]) dx[k] = {};
  if (create_graph_ && thread_state.operations == operations) check_differentiable(node, dy, dx);
  Observers::notify([&](Observer& o) { o.on_backward_end(node, dx); });
  if (!keep_graph_) {
    node.release_op();
    node.used = true;
  }
  for (std::size_t k = 0; k < dx.size(); ++k) {
    if (!dx[k].defined()) continue;
    Step& to = input(step, k);
    accumulate(to.gradient(), to.node->shape, to.node->dtype, std::exchange(dx[k], {}),
               create_graph_);
    Observers::notify([&](Observer& o) { o.on_grad_accumulate(node, k, to.gradient()); });
  }
}

Tensor own(Tensor x) { return is_own(x) ? std::move(x) : kernel::copy(x); }

/// Adds dy to the leaf's grad(), whose buffer no other tensor shares. Locks the leaf while its
/// hooks run.
void Walk::accumulate_leaf(Step& step) const {
  Node& leaf = *step.node;
  Node::Extra& extra = leaf.extra();
  const GradMode caller(records_);
  Tensor arrived = step.take().detach();
  const std::lock_guard lock(extra.mutex);
  Observers::notify([&](Observer& o) { o.on_leaf_grad(leaf, arrived); });
  if (extra.grad.defined())
    accumulate(extra.grad, leaf.shape, leaf.dtype, std::move(arrived), false);
  else
    extra.grad = own(std::move(arrived));
  Observers::notify([&](Observer& o) { o.on_leaf_accumulate(leaf, extra.grad); });
  {
    const ScopedValue<bool> running(extra.runs_hooks, true);
    const std::size_t count = extra.post_accumulate_hooks.size();  // a hook may add hooks
    for (std::size_t k = 0; k < count; ++k) {
      const std::shared_ptr<LeafHook> hook = extra.post_accumulate_hooks[k];
      if (!hook->removed) hook->run(extra.grad);
    }
  }
  extra.drop_removed_hooks();
}

/// Copies all gradients before adding them, so no leaf changes if memory runs out.
void Walk::accumulate_leaves() {
  const auto waits = [](const Step& step) { return !step.node->op_name && step.dy; };
  for (Step& step : steps) {
    if (!waits(step)) continue;
    Node::Extra& extra = step.node->extra();
    const std::lock_guard lock(extra.mutex);
    if (!is_own(extra.grad)) step.gradient() = own(step.take());
  }
  for (Step& step : steps)
    if (waits(step)) accumulate_leaf(step);
}

Walk& Walk::outermost() {
  Walk* walk = this;
  while (walk->outer_) walk = walk->outer_;
  return *walk;
}

/// Called before the leaves change, because nothing may fail after that.
void Walk::reserve_release() {
  Walk& keeper = outermost();
  if (&keeper == this) return;
  std::size_t count = keeper.released_.size();
  for (const Step& step : steps)
    if (step.node->used) count += step.node->inputs.size();
  if (count > keeper.released_.capacity())
    keeper.released_.reserve(std::max(count, 2 * keeper.released_.capacity()));
}

/// Releases the ops in order of ascending ids, while each node is still alive.
void Walk::release() noexcept {
  Walk& keeper = outermost();
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (!steps[i].node->used) continue;
    for (NodePtr& input : steps[i].node->inputs) {
      NodePtr dropped = std::exchange(input, nullptr);
      if (&keeper != this) keeper.released_.push_back(std::move(dropped));
    }
  }
}

/// Returns the initial gradients. A missing gradient is 1 and requires a one-element output.
std::vector<Tensor> initial_grads(const char* name, const std::vector<Tensor>& outputs,
                                  const std::vector<Tensor>& given) {
  require<GraphError>(!outputs.empty(), name, ": no output was given. Pass at least one output.");
  require<GraphError>(given.empty() || given.size() == outputs.size(), name, ": ", outputs.size(),
                      " outputs but ", given.size(),
                      " gradients for them. Pass one gradient per output.");
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& y = outputs[k];
    require<GraphError>(
        y.requires_grad(), name,
        ": this tensor does not depend on anything that requires a gradient. Call ",
        "requires_grad_() on a leaf, and check that no NoGrad or detach() cuts the path.");
    if (!given.empty() && given[k].defined()) {
      require<ShapeError>(given[k].shape() == y.shape(), name, ": the output has shape ", y.shape(),
                          " but its gradient has shape ", given[k].shape(),
                          ". Pass a gradient of the output's shape.");
      require<DtypeError>(given[k].dtype() == y.dtype(), name, ": the output is ", y.dtype(),
                          " but its gradient is ", given[k].dtype(),
                          ". Convert the gradient to the output's dtype.");
      out.push_back(given[k]);
      continue;
    }
    require<GraphError>(
        y.numel() == 1, name, ": the output has shape ", y.shape(),
        " but must have one element. Take its sum or mean first, or pass the gradient of ",
        "the output.");
    out.push_back(Tensor::empty_like(y).fill_(1));
  }
  return out;
}

}  // namespace

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grad_outputs,
              BackwardOptions options) {
  const std::vector<Tensor> first = initial_grads("backward", outputs, grad_outputs);
  Walk walk(outputs, false, options.keep_graph);
  walk.mark_leaves();
  for (std::size_t k = 0; k < outputs.size(); ++k) walk.seed(k, outputs[k], first[k]);
  walk.run();
  walk.reserve_release();
  walk.accumulate_leaves();
  walk.release();
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, GradOptions options) {
  const std::vector<Tensor> first = initial_grads("grad", outputs, grad_outputs);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    require<GraphError>(inputs[k].requires_grad(), "grad: input ", k, " ", inputs[k].shape(),
                        " does not require a gradient. Call requires_grad_() on it first.");
  Walk walk(outputs, options.create_graph, options.keep_graph);
  walk.mark_paths(inputs);
  for (std::size_t k = 0; k < outputs.size(); ++k) walk.seed(k, outputs[k], first[k]);
  walk.run();
  walk.reserve_release();
  std::vector<Tensor> gradients;
  for (const Tensor& x : inputs) {
    const Step* step = walk.find(x.node().get());
    require<GraphError>(options.allow_unused || (step && step->dy),
                        "grad: no output depends on an input of shape ", x.shape(),
                        ". Leave it out, or pass {.allow_unused = true}.");
    gradients.push_back(step && step->dy ? *step->dy : Tensor());
  }
  walk.release();
  return gradients;
}

std::vector<Tensor> grad(std::initializer_list<Tensor> outputs,
                         std::initializer_list<Tensor> inputs, GradOptions options) {
  return grad(std::vector(outputs), std::vector(inputs), {}, options);
}

Tensor grad(const Tensor& output, const Tensor& input, GradOptions options) {
  return grad(std::vector{output}, std::vector{input}, {}, options).front();
}

}  // namespace gradus
