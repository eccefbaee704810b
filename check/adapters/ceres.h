// Checks the Jacobians that Ceres' CostFunction::Evaluate writes.
#pragma once

#include <ceres/cost_function.h>
#include <ceres/manifold.h>

#include "gradus/check/raw/pullback.h"

namespace gradus::check {

/// Converts a Ceres manifold. Ceres' Jacobians have one column per ambient coordinate.
inline Manifold ceres(const ::ceres::Manifold& m) {
  return {.name = "Ceres' manifold",
          .dimension = [&m](std::size_t) { return static_cast<std::size_t>(m.TangentSize()); },
          .plus =
              [&m](const Values& x, const Values& delta) {
                Values y(x.size());
                if (m.Plus(x.data(), delta.data(), y.data())) return y;
                throw std::runtime_error("Plus returns false");
              },
          .gradient = GradientSpace::ambient};
}

/// Checks a cost function at these parameter blocks. manifolds[k] must outlive the call; null means
/// a vector space. The report names the blocks x0, x1 …
inline Report ceres(const Named& named, const ::ceres::CostFunction& cost,
                    const std::vector<Values>& blocks,
                    const std::vector<const ::ceres::Manifold*>& manifolds = {},
                    const RawOptions& options = {}) {
  std::vector<Input> inputs;
  Domains domains{.inputs = std::vector<std::optional<Manifold>>(blocks.size())};
  for (const Values& block : blocks) inputs.push_back({.values = block});
  for (std::size_t k = 0; k < manifolds.size(); ++k)
    if (manifolds[k]) domains.inputs[k] = ceres(*manifolds[k]);
  const auto evaluate = [&cost](const Arguments& x, std::vector<Values>* jacobians) {
    Values y(static_cast<std::size_t>(cost.num_residuals()));
    std::vector<const double*> at;
    std::vector<double*> to;
    for (std::size_t k = 0; k < x.size(); ++k) {
      at.push_back(x[k].data());
      if (jacobians) to.push_back(jacobians->emplace_back(y.size() * x[k].size(), 0.0).data());
    }
    if (!cost.Evaluate(at.data(), y.data(), jacobians ? to.data() : nullptr))
      throw std::runtime_error("Evaluate returns false");
    return y;
  };
  Functions functions;
  functions.forward = [evaluate](const Arguments& x) { return evaluate(x, nullptr); };
  functions.linear = true;
  functions.vjp = [evaluate](const Arguments& x, const Values& dy) {
    Arguments jacobians, dx;
    evaluate(x, &jacobians);
    for (const Values& jacobian : jacobians) dx.push_back(times_rows(dy, jacobian));
    return dx;
  };
  Report report = check_on(named.name, functions, inputs, domains, options);
  report.place = named.place;
  return report;
}

}  // namespace gradus::check
