// FeedForward: the position-wise two-layer net of a Transformer block.
#pragma once

#include "gradus/nn/linear.h"
#include "gradus/nn/module.h"

namespace gradus::nn {

enum class Activation { gelu, gelu_erf, relu, silu };
Tensor activate(const Tensor& x, Activation activation);

struct FeedForwardOptions {
  std::int64_t width = 0;   // C
  std::int64_t hidden = 0;  // F; 0: 4C
  Activation activation = Activation::gelu;
  bool bias = true;
};

/// down(activation(up(x))):  [..., C] → [..., F] → [..., C]
class FeedForward : public Layer<FeedForward> {
 public:
  explicit FeedForward(const FeedForwardOptions& options);
  Tensor forward(const Tensor& x) const;
  /// residual + forward(x), the sum taken in the last product.
  Tensor add_to(const Tensor& residual, const Tensor& x) const;
  Members members() override { return {{"up", up}, {"down", down}}; }
  FeedForward blank() const { return FeedForward(options); }

  FeedForwardOptions options;
  Linear up, down;
};

}  // namespace gradus::nn
