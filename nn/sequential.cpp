#include "gradus/nn/sequential.h"

#include <typeinfo>

namespace gradus::nn {

void Sequential::add(Activation activation) {
  add([activation](const Tensor& x) { return activate(x, activation); });
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (const Step& step : steps_) y = step.layer ? step.call(*step.layer, y) : step.function(y);
  return y;
}

Members Sequential::members() {
  Members out;
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (steps_[i].layer) out.emplace_back(std::to_string(i).c_str(), *steps_[i].layer);
  return out;
}

Sequential Sequential::same_architecture() const {
  Sequential out;
  for (const Step& step : steps_) {
    Step& made = out.steps_.emplace_back(Step{step.function, nullptr, step.call});
    if (!step.layer) continue;
    made.layer = step.layer->empty_like();
    const Module &from = *step.layer, &to = *made.layer;
    require<GraphError>(typeid(from) == typeid(to), "clone: ", from.type_name(), " would become a ",
                        to.type_name(), ". Derive it from Layer<", from.type_name(), ">.");
  }
  return out;
}

}  // namespace gradus::nn
