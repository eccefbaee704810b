// C width, F hidden width.
#include "gradus/nn/feed_forward.h"

#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {

Tensor activate(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh:
      return gelu(x, Gelu::tanh);
    case Activation::gelu:
      return gelu(x);
    case Activation::relu:
      return relu(x);
    case Activation::relu2:
      return square(relu(x));
    case Activation::silu:
      return silu(x);
    case Activation::swiglu: {
      const std::vector<Tensor> halves = chunk(x, 2, -1);  // [..., 2F] → twice [..., F]
      return swiglu(halves[0], halves[1]);
    }
  }
  fail<ValueError>("activate: unknown activation ", static_cast<int>(activation),
                   ". Use a value of Activation.");
}

FeedForward::FeedForward(const FeedForwardOptions& given) : options(given) {
  const std::int64_t C = options.width, F = options.hidden.value_or(4 * C);
  require(C > 0 && F > 0, "FeedForward: width and hidden must be positive, got ", C, " and ", F);
  up = Linear(C, options.activation == Activation::swiglu ? 2 * F : F, {options.bias});
  down = Linear(F, C, {options.bias});
}

Tensor FeedForward::forward(const Tensor& x) const {
  return down(activate(up(x), options.activation));  // [..., C] → [..., F] → [..., C]
}

SwiGLU::SwiGLU(std::int64_t in, std::int64_t hidden, LinearOptions options)
    : gate(in, hidden, options), up(in, hidden, options) {}

Tensor SwiGLU::forward(const Tensor& x) const {
  return swiglu(gate(x), up(x));  // [..., in] → [..., hidden]
}

}  // namespace gradus::nn
