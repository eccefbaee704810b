// Positions: where a token stands, added to what it is.
#pragma once

#include "gradus/nn/module.h"
#include "gradus/ops/position_bias.h"

namespace gradus::nn {

/// Vaswani et al. 2017, §3.5: [length, width], with
///   row pos, column 2i:      sin(pos / 10000^(2i / width))
///   row pos, column 2i + 1:  cos(pos / 10000^(2i / width))
Tensor sinusoidal_positions(std::int64_t length, std::int64_t width, Dtype dtype = default_dtype());

/// x [B, T, width] + sines of the positions first … first + T − 1 (`first` > 0 behind a cache).
/// ShapeError beyond the length that it was made for. Nothing is learned, nothing is saved.
class SinusoidalPosition : public Layer<SinusoidalPosition> {
 public:
  SinusoidalPosition(std::int64_t length, std::int64_t width);
  Tensor forward(const Tensor& x, std::int64_t first = 0) const;
  Members members() override { return {}; }
  SinusoidalPosition same_architecture() const { return {table.size(0), table.size(1)}; }

  Tensor table;  // [length, width], f64: converted to what it is added to
};

/// The same with a learned vector for each position, from normal(0, 0.02). Gehring et al. 2017.
class LearnedPosition : public Layer<LearnedPosition> {
 public:
  LearnedPosition(std::int64_t length, std::int64_t width);
  Tensor forward(const Tensor& x, std::int64_t first = 0) const;
  Members members() override { return {{"weight", weight}}; }
  LearnedPosition same_architecture() const { return {weight.size(0), weight.size(1)}; }

  Tensor weight;  // [length, width]
};

/// Raffel et al. 2020: a learned number for each head and bucket of distances, added to the scores
/// (AttentionOptions::bias). All layers of a model may share one. From normal(0, 0.02).
class RelativeBias : public Layer<RelativeBias> {
 public:
  RelativeBias() = default;  // undefined: a place for one
  explicit RelativeBias(std::int64_t heads, const RelativeBuckets& options = {});
  /// Positions of queries and keys → [H, T, S]; of B examples, one after the other → [B, H, T, S].
  Tensor forward(PositionList queries, PositionList keys, std::int64_t examples = 0) const;
  Members members() override { return {{"weight", weight}}; }
  RelativeBias same_architecture() const { return RelativeBias(weight.size(1), options); }

  RelativeBuckets options;
  Tensor weight;  // [buckets, heads]
};

}  // namespace gradus::nn
