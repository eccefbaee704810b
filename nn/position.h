#pragma once

#include "gradus/nn/module.h"
#include "gradus/ops/position_bias.h"

namespace gradus::nn {

/// Returns a table [length, width] of sinusoidal positions. Vaswani et al. 2017, §3.5.
///   row pos, column 2i:      sin(pos / 10000^(2i / width))
///   row pos, column 2i + 1:  cos(pos / 10000^(2i / width))
Tensor sinusoidal_positions(std::int64_t length, std::int64_t width, Dtype dtype = default_dtype());

/// Adds sinusoidal positions, starting at `first`, to x [B, T, width]. Throws ShapeError beyond
/// `length`. Has no parameters.
class SinusoidalPosition : public Layer<SinusoidalPosition> {
 public:
  SinusoidalPosition(std::int64_t length, std::int64_t width);
  Tensor forward(const Tensor& x, std::int64_t first = 0) const;
  Members members() override { return {}; }
  SinusoidalPosition same_architecture() const { return {table.size(0), table.size(1)}; }

  Tensor table;  // [length, width], f64; converted to x's dtype
};

/// Adds a learned vector for each position, initialized from normal(0, 0.02). Gehring et al. 2017.
class LearnedPosition : public Layer<LearnedPosition> {
 public:
  LearnedPosition(std::int64_t length, std::int64_t width);
  Tensor forward(const Tensor& x, std::int64_t first = 0) const;
  Members members() override { return {{"weight", weight}}; }
  LearnedPosition same_architecture() const { return {weight.size(0), weight.size(1)}; }

  Tensor weight;  // [length, width]
};

/// Learned bias of attention scores for each head and bucket of distances, initialized from
/// normal(0, 0.02). Pass it as AttentionOptions::bias. Raffel et al. 2020.
class RelativeBias : public Layer<RelativeBias> {
 public:
  RelativeBias() = default;  // undefined until assigned
  explicit RelativeBias(std::int64_t heads, const RelativeBuckets& options = {});
  /// Returns the bias [H, T, S], or [B, H, T, S] for B concatenated examples.
  Tensor forward(PositionList queries, PositionList keys, std::int64_t examples = 0) const;
  Members members() override { return {{"weight", weight}}; }
  RelativeBias same_architecture() const { return RelativeBias(weight.size(1), options); }

  RelativeBuckets options;
  Tensor weight;  // [buckets, heads]
};

}  // namespace gradus::nn
