#include "gradus/engine/op.h"

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"

namespace gradus {

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

Gradients Op::backward(const Tensor&, const NeedsGrad&) {
  fail<GraphError>(name(), " has no derivative. Call detach() on its input or output.");
}

std::vector<std::pair<const char*, Tensor>> Op::intermediates(const Tensor&) const { return {}; }

const Shape& Op::shape_of(int input) const {
  return node_->inputs[static_cast<std::size_t>(input)]->shape;
}

Tensor Op::attached(const Saved& output) const {
  Tensor y = output.value();
  y.set_node(GradMode::enabled() ? NodePtr(node_) : nullptr);
  return y;
}

}  // namespace gradus
