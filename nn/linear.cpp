// Linear: how it starts, and the call of ops/linear.cpp.
#include "gradus/nn/linear.h"

#include <cmath>

#include "gradus/nn/init.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/linear.h"

namespace gradus::nn {

Linear::Linear(std::int64_t in, std::int64_t out, LinearOptions options) {
  require(in > 0 && out > 0, "Linear: sizes must be positive, not in = ", in, ", out = ", out);
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = parameter(Tensor::empty({out, in}, default_dtype()));
  init::uniform_(weight, -bound, bound);
  if (!options.bias) return;
  bias = parameter(Tensor::empty({out}, default_dtype()));
  init::uniform_(bias, -bound, bound);
}

Tensor Linear::forward(const Tensor& x) const {
  const Tensor y = packed.defined() ? linear(x, packed, bias) : linear(x, weight, bias);
  return lora_a.defined() ? y + linear(linear(x, lora_a), lora_b) * lora_scale : y;
}

}  // namespace gradus::nn
