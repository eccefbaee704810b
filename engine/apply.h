#pragma once

#include <concepts>
#include <span>
#include <utility>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"

namespace gradus {

/// True if recording is on and an input requires a gradient.
inline bool wants_gradient(std::span<const Tensor* const> inputs) {
  if (!GradMode::enabled()) return false;
  for (const Tensor* x : inputs)
    if (x->requires_grad()) return true;
  return false;
}

/// Runs `op`, and attaches a Node to its output if an input requires a gradient. `forward` calls
/// op.forward(…).
template <class O, std::size_t N, class Forward>
Tensor record(O& op, std::span<const Tensor* const, N> inputs, Forward&& forward) {
  ++thread_state.operations;
  Observers::notify([&](Observer& o) { o.on_op_begin(op, inputs); });
  Tensor y = forward();
  y.set_node(nullptr);  // if forward returned its input, drop the input's node
  const Op* ran = &op;
  if (wants_gradient(inputs) && is_float(y.dtype())) {
    y.set_node(NodePtr(new OpNode<O, N>(std::move(op), y, inputs)));
    ran = y.node()->op;
  }
  Observers::notify([&](Observer& o) { o.on_op_end(*ran, inputs, y); });
  return y;
}

/// Returns op.forward(x…) and records it. Passes on undefined inputs, such as a missing bias.
template <class O, std::same_as<Tensor>... X>
Tensor apply(O op, const X&... x) {
  const Tensor* const inputs[] = {&x...};
  return record(op, std::span(inputs), [&] { return op.forward(x...); });
}

/// Like apply, but for any number of tensors (cat, stack): calls op.forward(span).
template <class O>
Tensor apply(O op, std::span<const Tensor> x) {
  std::vector<const Tensor*> inputs;
  for (const Tensor& each : x) inputs.push_back(&each);
  return record(op, std::span<const Tensor* const>(inputs), [&] { return op.forward(x); });
}

}  // namespace gradus
