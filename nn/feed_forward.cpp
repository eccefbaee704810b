// FeedForward: C width, F hidden.
#include "gradus/nn/feed_forward.h"

#include "gradus/ops/activation.h"
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
    case Activation::silu:
      return silu(x);
    case Activation::swiglu: {
      const std::vector<Tensor> halves = chunk(x, 2, -1);  // [..., 2F] → twice [..., F]
      return swiglu(halves[0], halves[1]);
    }
  }
  fail<ValueError>("not an activation: ", static_cast<int>(activation));
}

FeedForward::FeedForward(const FeedForwardOptions& given) : options(given) {
  require(options.width > 0 && options.hidden >= 0, "FeedForward: width ", options.width,
          ", hidden ", options.hidden, ": sizes must be positive (hidden 0 means 4 · width)");
  if (options.hidden == 0) options.hidden = 4 * options.width;
  const std::int64_t columns = options.activation == Activation::swiglu ? 2 : 1;
  up = Linear(options.width, columns * options.hidden, {options.bias});
  down = Linear(options.hidden, options.width, {options.bias});
}

Tensor FeedForward::forward(const Tensor& x) const {
  return down(activate(up(x), options.activation));  // [..., C] → [..., F] → [..., C]
}

Tensor FeedForward::add_to(const Tensor& residual, const Tensor& x) const {
  const Scope scope(*this);
  return down.add_to(residual, activate(up(x), options.activation));
}

SwiGLU::SwiGLU(std::int64_t in, std::int64_t hidden, LinearOptions options)
    : gate(in, hidden, options), up(in, hidden, options) {}

Tensor SwiGLU::forward(const Tensor& x) const {
  return swiglu(gate(x), up(x));  // [..., in] → [..., hidden]
}

}  // namespace gradus::nn
