#pragma once

#include <vector>

#include "gradus/nn/block.h"
#include "gradus/nn/extras/conv.h"
#include "gradus/nn/position.h"

namespace gradus::examples {

struct ConvolutionBlockOptions {
  nn::BlockOptions block;
  std::int64_t kernel = 5;  // width in frames; odd
};

/// x = x + gelu(convolution(norm(x)));   x = block(x), [B, T, C] → [B, T, C]. The depthwise
/// convolution mixes neighboring frames. From Gulati et al. 2020 (Conformer), without gates.
class ConvolutionBlock : public nn::Layer<ConvolutionBlock> {
 public:
  explicit ConvolutionBlock(const ConvolutionBlockOptions& options);
  Tensor forward(const Tensor& x) const;
  nn::Members members() override {
    return {{"norm", norm}, {"convolution", convolution}, {"block", block}};
  }

  ConvolutionBlockOptions options;
  nn::Norm norm;
  nn::Conv1d convolution;
  nn::Block block;
};

struct ListenerOptions {
  std::int64_t bands = 0, frames = 0;  // number of bands, and maximum number of frames
  std::int64_t classes = 0;
  std::int64_t layers = 1, heads = 1, width = 0, kernel = 5;
  double dropout = 0;
};

/// Spectrograms [B, bands, T] → logits [B, classes]: two convolutions, the second with stride 2,
/// sinusoidal positions, convolution blocks, a norm, the mean over time, and a head.
class Listener : public nn::Layer<Listener> {
 public:
  explicit Listener(const ListenerOptions& options);
  Tensor forward(const Tensor& spectrograms) const;
  nn::Members members() override {
    return {{"front", front}, {"half", half}, {"blocks", blocks}, {"norm", norm}, {"head", head}};
  }

  ListenerOptions options;
  nn::Conv1d front, half;  // [C, bands, 3], [C, C, 3] with stride 2
  nn::SinusoidalPosition position;
  std::vector<ConvolutionBlock> blocks;
  nn::LayerNorm norm;
  nn::Linear head;  // [classes, C]
};

}  // namespace gradus::examples
