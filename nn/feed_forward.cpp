// FeedForward: C width, F hidden.
#include "gradus/nn/feed_forward.h"

#include "gradus/ops/activation.h"

namespace gradus::nn {

Tensor activate(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_erf:
      return gelu(x, Gelu::erf);
    case Activation::relu:
      return relu(x);
    case Activation::silu:
      return silu(x);
  }
  fail<ValueError>("not an activation: ", static_cast<int>(activation));
}

FeedForward::FeedForward(const FeedForwardOptions& given) : options(given) {
  require(options.width > 0 && options.hidden >= 0, "FeedForward: width ", options.width,
          ", hidden ", options.hidden, ": sizes must be positive (hidden 0 means 4 · width)");
  if (options.hidden == 0) options.hidden = 4 * options.width;
  up = Linear(options.width, options.hidden, {options.bias});
  down = Linear(options.hidden, options.width, {options.bias});
}

Tensor FeedForward::forward(const Tensor& x) const {
  return down(activate(up(x), options.activation));  // [..., C] → [..., F] → [..., C]
}

Tensor FeedForward::add_to(const Tensor& residual, const Tensor& x) const {
  const Scope scope(*this);
  return down.add_to(residual, activate(up(x), options.activation));
}

}  // namespace gradus::nn
