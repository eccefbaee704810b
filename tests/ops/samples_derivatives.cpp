// The derivatives of Σ x³: Jᵀ dy = 3 x² dy, J v = 3 x² v, H v = 6 x v.
#include <string>
#include <utility>
#include <vector>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/derivatives.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using Tensors = std::vector<Tensor>;

Tensor cube(const Tensors& x) { return x[0] * x[0] * x[0]; }

Sample derivative(std::string function, std::function<Tensor(const Inputs&)> f,
                  Reference reference) {
  return {.op = "multiply",
          .what = "a cube and its derivatives",
          .inputs = {values({3, 5}), values({3, 5}, 1)},
          .f = std::move(f),
          .reference = std::move(reference),
          .function = std::move(function)};
}

}  // namespace

Samples derivative_samples() {
  const DerivativeOptions again{.create_graph = true};
  const auto slope = []<class T>(const Arguments<T>& x) {
    List<T> y = x[1].values;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= 3 * x[0].values[i] * x[0].values[i];
    return y;
  };
  const auto bend = []<class T>(const Arguments<T>& x) {
    List<T> y = x[1].values;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= 6 * x[0].values[i];
    return y;
  };
  return {
      derivative(
          "vjp", [=](const Inputs& x) { return vjp(cube, {x[0]}, x[1], again).gradients[0]; },
          slope),
      derivative(
          "jvp", [=](const Inputs& x) { return jvp(cube, {x[0]}, {x[1]}, again).tangent; }, slope),
      derivative(
          "hessian_vector_product",
          [=](const Inputs& x) {
            const auto loss = [](const Tensors& in) { return sum(cube(in)); };
            return hessian_vector_product(loss, {x[0]}, {x[1]}, again).product[0];
          },
          bend),
  };
}

}  // namespace gradus::testing
