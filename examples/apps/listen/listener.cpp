// Axes: B batch, T frames, T' half of the frames, C width.
#include "gradus/examples/apps/listen/listener.h"

#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::examples {
namespace {

const ConvolutionBlockOptions& checked(const ConvolutionBlockOptions& o) {
  require(o.kernel > 0 && o.kernel % 2 == 1,
          "ConvolutionBlock: the kernel size must be positive and odd, got ", o.kernel);
  return o;
}

const ListenerOptions& checked(const ListenerOptions& o) {
  require(o.bands > 0 && o.frames > 0 && o.classes > 0 && o.width > 0 && o.layers > 0,
          "Listener: all sizes must be positive (", o.bands, " bands, ", o.frames, " frames, ",
          o.classes, " classes, width ", o.width, ", ", o.layers, " layers)");
  return o;
}

}  // namespace

ConvolutionBlock::ConvolutionBlock(const ConvolutionBlockOptions& given)
    : options(checked(given)),
      norm(given.block.width, given.block.norm_kind),
      convolution(given.block.width, given.block.width, given.kernel,
                  {.padding = given.kernel / 2, .groups = given.block.width}),
      block(given.block) {}

Tensor ConvolutionBlock::forward(const Tensor& x) const {
  const Tensor channels = transpose(norm(x), 1, 2);             // [B, C, T]
  const Tensor near = gelu(convolution(channels), Gelu::tanh);  // [B, C, T]
  return block(x + transpose(near, 1, 2));                      // [B, T, C]
}

Listener::Listener(const ListenerOptions& given)
    : options(checked(given)),
      front(given.bands, given.width, 3, {.padding = 1}),
      half(given.width, given.width, 3, {.stride = 2, .padding = 1}),
      position((given.frames + 1) / 2, given.width),
      norm(given.width),
      head(given.width, given.classes) {
  for (std::int64_t i = 0; i < options.layers; ++i)
    blocks.emplace_back(ConvolutionBlockOptions{
        .block = {.width = options.width, .heads = options.heads, .dropout = options.dropout},
        .kernel = options.kernel});
}

Tensor Listener::forward(const Tensor& spectrograms) const {
  require<ShapeError>(
      spectrograms.defined() && spectrograms.rank() == 3 && spectrograms.size(1) == options.bands &&
          spectrograms.size(2) > 0 && spectrograms.size(2) <= options.frames,
      "Listener: spectrograms must be [batch, ", options.bands, ", 1 to ", options.frames,
      "], got ", spectrograms.defined() ? to_string(spectrograms.shape()) : "undefined");
  const Tensor heard = gelu(half(gelu(front(spectrograms), Gelu::tanh)), Gelu::tanh);  // [B, C, T']
  Tensor x = position(transpose(heard, 1, 2));                                         // [B, T', C]
  for (const ConvolutionBlock& block : blocks) x = block(x);                           // [B, T', C]
  return head(mean(norm(x), {1}));  // [B, classes]
}

}  // namespace gradus::examples
