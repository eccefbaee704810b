// Block: two residual branches, normed before or after. B batch, T tokens, C width.
#include "gradus/nn/block.h"

#include "gradus/ops/dropout.h"

namespace gradus::nn {

Block::Block(const BlockOptions& given)
    : options(given),
      norm1(given.width),
      norm2(given.width),
      attention({.width = given.width,
                 .heads = given.heads,
                 .bias = given.bias,
                 .dropout = given.dropout}),
      feed_forward({.width = given.width,
                    .hidden = given.hidden,
                    .activation = given.activation,
                    .bias = given.bias}) {}

Tensor Block::forward(const Tensor& x, const Mask& mask) const {
  if (options.norm == NormPlacement::post) {
    const Tensor attended = norm1(add_attention(x, x, mask));
    return norm2(add_feed_forward(attended, attended));
  }
  const Tensor attended = add_attention(x, norm1(x), mask);
  return add_feed_forward(attended, norm2(attended));
}

/// residual + dropout(attention(x)); without dropout the sum is part of the last product.
Tensor Block::add_attention(const Tensor& residual, const Tensor& x, const Mask& mask) const {
  if (options.dropout == 0 || !training()) return attention.add_to(residual, x, mask);
  return dropout_residual(attention(x, mask), residual, options.dropout);
}

Tensor Block::add_feed_forward(const Tensor& residual, const Tensor& x) const {
  if (options.dropout == 0 || !training()) return feed_forward.add_to(residual, x);
  return dropout_residual(feed_forward(x), residual, options.dropout);
}

}  // namespace gradus::nn
