// B batch, T queries, S keys, C width, H hidden units.
#include "gradus/nn/scoring.h"

#include <cmath>

#include "gradus/nn/init.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/hidden.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"

namespace gradus::nn {
namespace {

void check_pair(const char* layer, const Tensor& q, const Tensor& k) {
  require(q.defined() && k.defined(), layer, ": ", q.defined() ? "k" : "q",
          " is undefined. Pass two tensors.");
  require<ShapeError>(q.rank() == 3 && k.rank() == 3 && q.size(0) == k.size(0), layer, ": q ",
                      q.shape(), " and k ", k.shape(),
                      " must be [batch, length, width] with equal batch sizes");
}

}  // namespace

Tensor DotScore::forward(const Tensor& q, const Tensor& k) const {
  check_pair("DotScore", q, k);
  const Tensor products = matmul(q, transpose(k));  // [B, T, S]
  return scaled ? products / std::sqrt(static_cast<double>(q.size(2))) : products;
}

AdditiveScore::AdditiveScore(std::int64_t query_width, std::int64_t key_width, std::int64_t hidden)
    : query_proj(query_width, hidden, {.bias = false}),
      key_proj(key_width, hidden, {.bias = false}),
      out_proj(hidden, 1, {.bias = false}) {}

Tensor AdditiveScore::forward(const Tensor& q, const Tensor& k) const {
  check_pair("AdditiveScore", q, k);
  const Tensor a = unsqueeze(query_proj(q), 2);  // [B, T, 1, H]
  const Tensor b = unsqueeze(key_proj(k), 1);    // [B, 1, S, H]
  return squeeze(out_proj(tanh(a + b)), 3);      // [B, T, S]
}

BilinearScore::BilinearScore(std::int64_t query_width, std::int64_t key_width)
    : proj(query_width, key_width, {.bias = false}) {}

Tensor BilinearScore::forward(const Tensor& q, const Tensor& k) const {
  check_pair("BilinearScore", q, k);
  return matmul(proj(q), transpose(k));  // [B, T, Ck] [B, Ck, S] → [B, T, S]
}

AttentionOutput weighted_values(const Tensor& scores, const Tensor& values, const Mask& mask) {
  require(scores.defined() && values.defined(), "weighted_values: the ",
          scores.defined() ? "values" : "scores", " are undefined. Pass two tensors.");
  require<ShapeError>(scores.rank() == 3 && values.rank() == 3 &&
                          scores.size(0) == values.size(0) && scores.size(2) == values.size(1),
                      "weighted_values: scores ", scores.shape(), " and values ", values.shape(),
                      " must be [batch, queries, keys] and [batch, keys, width]");
  if (mask.allows_everything()) {
    const Tensor all = softmax(scores);  // [B, T, S]
    return {matmul(all, values), all};   // [B, T, C]
  }
  const kernel::Hidden hides =
      kernel::hidden_by(mask, {scores.size(0), 1, scores.size(1), scores.size(2)});
  const Tensor masked = masked_fill(unsqueeze(scores, 1), hides.pairs, -INFINITY);
  const Tensor weights = softmax(masked);                                      // [B, 1, T, S]
  const Tensor seen = kernel::without_rows(unsqueeze(values, 1), hides.keys);  // [B, 1, S, C]
  const Tensor sums = kernel::without_rows(matmul(weights, seen), hides.queries);
  return {squeeze(sums, 1), squeeze(weights, 1)};  // [B, T, C], [B, T, S]
}

AttentionPooling::AttentionPooling(std::int64_t width) {
  require(width > 0, "AttentionPooling: the width must be positive, got ", width);
  query = parameter(Tensor::empty({width}, default_dtype()));
  init::normal_(query, 0, 0.02);
}

Tensor AttentionPooling::forward(const Tensor& x, const Mask& mask) const {
  return with_weights(x, mask).output;  // [B, C]
}

AttentionOutput AttentionPooling::with_weights(const Tensor& x, const Mask& mask) const {
  const std::int64_t C = query.numel();
  require(x.defined(), "AttentionPooling: the input is undefined. Pass a defined tensor.");
  require<ShapeError>(x.rank() == 3 && x.size(2) == C,
                      "AttentionPooling: the input must be [batch, length, ", C, "], got ",
                      x.shape());
  const Tensor q = expand(query, {x.size(0), 1, 1, C});               // [B, 1, 1, C]
  const Tensor k = unsqueeze(x, 1);                                   // [B, 1, S, C]
  const AttentionOutput all = attention_with_weights(q, k, k, mask);  // one head
  return {reshape(all.output, {x.size(0), C}),                        // [B, C]
          reshape(all.weights, {x.size(0), x.size(1)})};              // [B, S]
}

}  // namespace gradus::nn
