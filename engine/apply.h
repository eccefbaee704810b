// apply: the one way in which an operation runs, and enters the graph.
#pragma once

#include <concepts>
#include <span>
#include <utility>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"

namespace gradus {

/// Does any of these lead to a leaf whose gradient is wanted, and is recording on?
inline bool wants_gradient(std::span<const Tensor* const> inputs) {
  if (!GradMode::enabled()) return false;
  for (const Tensor* x : inputs)
    if (x->requires_grad()) return true;
  return false;
}

/// Runs `op`, and gives its output a Node if a gradient is wanted. `forward` calls op.forward(…).
/// Without a gradient nothing of this goes to the heap.
template <class O, std::size_t N, class Forward>
Tensor record(O& op, std::span<const Tensor* const, N> inputs, Forward&& forward) {
  ++thread_state.operations;
  Observers::notify([&](Observer& o) { o.on_op_begin(op, inputs); });
  Tensor y = forward();
  y.set_node(nullptr);  // a forward that hands its input on must not hand on its place in the graph
  const Op* ran = &op;
  if (wants_gradient(inputs) && is_float(y.dtype())) {
    y.set_node(NodePtr(new OpNode<O, N>(std::move(op), y, inputs)));
    ran = y.node()->op;
  }
  Observers::notify([&](Observer& o) { o.on_op_end(*ran, inputs, y); });
  return y;
}

/// y = op.forward(x…), recorded. An undefined input (no bias) is handed on as it is.
template <class O, std::same_as<Tensor>... X>
Tensor apply(O op, const X&... x) {
  const Tensor* const inputs[] = {&x...};
  return record(op, std::span(inputs), [&] { return op.forward(x...); });
}

/// The same for operations on any number of tensors (cat, stack): op.forward(span).
template <class O>
Tensor apply(O op, std::span<const Tensor> x) {
  std::vector<const Tensor*> inputs;
  for (const Tensor& each : x) inputs.push_back(&each);
  return record(op, std::span<const Tensor* const>(inputs), [&] { return op.forward(x); });
}

}  // namespace gradus
