#pragma once

#include <optional>

#include "gradus/nn/linear.h"
#include "gradus/nn/module.h"

namespace gradus::nn {

/// Activation function. gelu_tanh: as in GPT-2. relu2: relu(x)² (So et al. 2021). swiglu: the first
/// half of the columns gates the second half, [..., 2F] → [..., F] (Shazeer 2020).
enum class Activation { gelu, gelu_tanh, relu, relu2, silu, swiglu };
Tensor activate(const Tensor& x, Activation activation);

/// Options of FeedForward.
struct FeedForwardOptions {
  std::int64_t width = 0;                   // C
  std::optional<std::int64_t> hidden = {};  // F, hidden width; default: 4C
  Activation activation = Activation::gelu_tanh;
  bool bias = true;
};

/// down(activation(up(x))): [..., C] → [..., F] → [..., C]. For swiglu, `up` has 2F columns, with
/// the gates first.
class FeedForward : public Layer<FeedForward> {
 public:
  explicit FeedForward(const FeedForwardOptions& options);
  Tensor forward(const Tensor& x) const;
  Members members() override { return {{"up", up}, {"down", down}}; }

  FeedForwardOptions options;
  Linear up, down;
};

/// Gated linear layer of LLaMA's feed-forward network: silu(x W + b) ⊗ (x V + c), [..., in] →
/// [..., hidden]. Shazeer 2020.
class SwiGLU : public Layer<SwiGLU> {
 public:
  SwiGLU(std::int64_t in, std::int64_t hidden, LinearOptions options = {});
  Tensor forward(const Tensor& x) const;
  Members members() override { return {{"gate", gate}, {"up", up}}; }
  SwiGLU same_architecture() const {
    return {gate.weight.size(1), gate.weight.size(0), {gate.bias.defined()}};
  }

  Linear gate, up;  // W and V, [hidden, in]
};

}  // namespace gradus::nn
