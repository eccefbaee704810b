#pragma once

#include <utility>

#include "gradus/nn/module.h"
#include "gradus/ops/arithmetic.h"

namespace gradus::nn {

/// x + inner(x), where inner preserves the shape. Passes further arguments to inner. He et al.
/// 2015.
///
///   nn::Residual deep(nn::Sequential(nn::LayerNorm(64), nn::Linear(64, 64), relu));
template <class M>
class Residual : public Layer<Residual<M>> {
 public:
  explicit Residual(M layer) : inner(std::move(layer)) {}

  template <class... Rest>
  Tensor forward(const Tensor& x, const Rest&... rest) const {
    const Tensor branch = inner(x, rest...);
    require<ShapeError>(branch.shape() == x.shape(), "Residual: ", inner.type_name(), " returned ",
                        branch.shape(), " for ", x.shape(), ", but the shapes must be equal");
    return x + branch;
  }
  Members members() override { return {{"inner", inner}}; }
  Residual same_architecture() const {
    return Residual(std::move(dynamic_cast<M&>(*inner.empty_like())));
  }

  M inner;
};

}  // namespace gradus::nn
