// Axes: B batch, T history length, C width, V = items + 1.
#include "gradus/examples/apps/recommend/recommender.h"
#include "gradus/engine/grad_mode.h"

#include <cmath>
#include <limits>

#include "gradus/nn/init.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::examples {

Recommender::Recommender(const RecommenderOptions& given)
    : options(given),
      item(given.items + 1, given.width, {.padding_idx = 0}),
      position(given.context, given.width),
      stack({.block = {.width = given.width,
                       .heads = given.heads,
                       .dropout = given.dropout,
                       .activation = nn::Activation::relu},
             .layers = given.layers}) {
  const double deviation = 1 / std::sqrt(static_cast<double>(options.width));
  {
    const NoGrad off;
    item.weight.copy_(item.weight * deviation);  // the padding row stays 0
  }
  nn::init::normal_(position.weight, 0, deviation);
}

Tensor Recommender::forward(const Tensor& items) const {
  require<ShapeError>(items.defined() && items.rank() == 2,
                      "Recommender: histories must be [batch, length], got ",
                      items.defined() ? to_string(items.shape()) : "undefined");
  const std::int64_t T = items.size(1);
  require<ShapeError>(T <= options.context, "Recommender: histories of ", T,
                      " items, but the context is ", options.context, ". Pass only the latest.");
  const Tensor there = unsqueeze(not_equal(items, 0), 1);  // [B, 1, T]: not padding
  const Mask mask = causal_mask() & dense_mask(expand(there, {items.size(0), T, T}));
  const double scale = std::sqrt(static_cast<double>(options.width));
  // Positions begin after any padding.
  const Tensor count = cumsum(not_equal(items, 0).to(Dtype::f32), 1);     // [B, T]
  const Tensor place = relu(count - 1.0).to(Dtype::i64);                  // [B, T]
  const Tensor x = item(items) * scale + position(place);                 // [B, T, C]
  const Tensor y = stack(dropout(x, options.dropout, training()), mask);  // [B, T, C]
  const Tensor scores = linear(y, item.weight);                           // [B, T, V]
  const Tensor padding = equal(arange(options.items + 1), 0);             // [V]
  return masked_fill(scores, padding, -std::numeric_limits<double>::infinity());
}

Tensor Recommender::loss(const Tensor& items, const Tensor& next) const {
  return cross_entropy((*this)(items), next, {.ignore_index = 0});
}

}  // namespace gradus::examples
