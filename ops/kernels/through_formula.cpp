#include "gradus/ops/kernels/through_formula.h"

#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/views.h"

namespace gradus::op {
Gradients through_formula(const Tensor& dy, const NeedsGrad& needs_grad, std::vector<Tensor> inputs,
                          FunctionRef<Tensor(const std::vector<Tensor>&)> formula) {
  const bool again = GradMode::enabled();
  const GradMode recorded(true);
  std::vector<Tensor> wanted;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !needs_grad(static_cast<int>(i))) continue;
    inputs[i] = permute(inputs[i], all_axes(inputs[i]));  // a new node, at which backward stops
    wanted.push_back(inputs[i]);
    at.push_back(i);
  }
  if (wanted.empty()) return Gradients(inputs.size());
  const std::vector<Tensor> d = grad({formula(inputs)}, wanted, {dy}, {.create_graph = again});
  Gradients all(inputs.size());
  for (std::size_t i = 0; i < at.size(); ++i) all[at[i]] = d[i];
  return all;
}

}  // namespace gradus::op
