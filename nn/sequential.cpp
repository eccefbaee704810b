// Sequential: steps are functions; those that are layers own one.
#include "gradus/nn/sequential.h"

namespace gradus::nn {

void Sequential::add(Activation activation) {
  add([activation](const Tensor& x) { return activate(x, activation); });
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (const Step& step : steps_) y = step.run(y);
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
  for (const Step& step : steps_)
    out.steps_.push_back(step.layer ? step.same_architecture() : Step{step.run, nullptr, {}});
  return out;
}

}  // namespace gradus::nn
