// Building blocks of attention: weighted_values(score(q, k), v, mask).
#pragma once

#include "gradus/nn/linear.h"
#include "gradus/ops/attention/attention.h"

namespace gradus::nn {

// Score layers: q [B, T, Cq], k [B, S, Ck] → [B, T, S].

/// q · k, divided by √C if `scaled` (Vaswani et al. 2017), otherwise Luong's "dot" (2015). Requires
/// Cq = Ck.
class DotScore : public Layer<DotScore> {
 public:
  explicit DotScore(bool scale_scores = true) : scaled(scale_scores) {}
  Tensor forward(const Tensor& q, const Tensor& k) const;
  Members members() override { return {}; }
  DotScore same_architecture() const { return DotScore(scaled); }

  bool scaled;
};

/// vᵀ tanh(W q + U k), with `hidden` units. Bahdanau et al. 2015.
class AdditiveScore : public Layer<AdditiveScore> {
 public:
  AdditiveScore(std::int64_t query_width, std::int64_t key_width, std::int64_t hidden);
  Tensor forward(const Tensor& q, const Tensor& k) const;
  Members members() override {
    return {{"query_proj", query_proj}, {"key_proj", key_proj}, {"out_proj", out_proj}};
  }
  AdditiveScore same_architecture() const {
    return {query_proj.weight.size(1), key_proj.weight.size(1), out_proj.weight.size(1)};
  }

  Linear query_proj, key_proj;  // W [hidden, Cq], U [hidden, Ck], without bias
  Linear out_proj;              // v as [1, hidden]
};

/// qᵀ W k. Luong et al. 2015, "general".
class BilinearScore : public Layer<BilinearScore> {
 public:
  BilinearScore(std::int64_t query_width, std::int64_t key_width);
  Tensor forward(const Tensor& q, const Tensor& k) const;
  Members members() override { return {{"proj", proj}}; }
  BilinearScore same_architecture() const { return {proj.weight.size(1), proj.weight.size(0)}; }

  Linear proj;  // Wᵀ [Ck, Cq], applied to the queries
};

/// softmax(scores where `mask` allows) · values: scores [B, T, S], values [B, S, C] → [B, T, C] and
/// weights [B, T, S]. A query without keys yields 0. Masked scores, and values that no query
/// attends to, have no effect, even if NaN.
AttentionOutput weighted_values(const Tensor& scores, const Tensor& values, const Mask& mask = {});

/// Pooling with one learned query: softmax(x q / √C) x.
class AttentionPooling : public Layer<AttentionPooling> {
 public:
  explicit AttentionPooling(std::int64_t width);
  /// x [B, S, C] → [B, C]. Exclude padding with padding_mask(lengths). All-padding examples yield
  /// 0.
  Tensor forward(const Tensor& x, const Mask& mask = {}) const;
  /// Also returns the weights [B, S].
  AttentionOutput with_weights(const Tensor& x, const Mask& mask = {}) const;
  Members members() override { return {{"query", query}}; }
  AttentionPooling same_architecture() const { return AttentionPooling(query.numel()); }

  Tensor query;  // [C], initialized from normal(0, 0.02), so pooling starts as a mean
};

}  // namespace gradus::nn
