#include "gradus/nn/linear.h"

#include <cmath>

#include "gradus/nn/init.h"
#include "gradus/ops/linear.h"

namespace gradus::nn {

Linear::Linear(std::int64_t in, std::int64_t out, LinearOptions options) {
  require(in > 0 && out > 0, "Linear: sizes must be positive, got in = ", in, ", out = ", out);
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = parameter(Tensor::empty({out, in}, default_dtype()));
  init::uniform_(weight, -bound, bound);
  if (!options.bias) return;
  bias = parameter(Tensor::empty({out}, default_dtype()));
  init::uniform_(bias, -bound, bound);
}

Tensor Linear::forward(const Tensor& x) const {
  return provider ? provider->linear(x, weight, bias) : linear(x, weight, bias);
}

}  // namespace gradus::nn
