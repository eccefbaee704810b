// Normalisation: LayerNorm, RMSNorm, Norm (one of both), BatchNorm1d. See ops/normalization.h.
#pragma once

#include "gradus/nn/module.h"

namespace gradus::nn {

struct NormOptions {
  double eps = 1e-5;   // added to the variance (or mean square) under the root
  bool affine = true;  // learns a weight, and a bias where the norm has one
};

enum class NormKind { layer, rms };

/// What LayerNorm, RMSNorm and Norm are: [..., width] → the same.
template <class Self>
class RowNorm : public Layer<Self> {
 public:
  Tensor forward(const Tensor& x) const;
  Members members() override { return {{"weight", weight}, {"bias", bias}}; }

  std::int64_t width;
  NormKind kind;
  NormOptions options;
  Tensor weight, bias;  // [width], from 1 and 0; undefined unless affine; no bias with rms

 protected:
  RowNorm(std::int64_t width, NormKind kind, NormOptions options);
};

/// Each vector of the last axis to mean 0 and variance 1, then · weight + bias.
/// Ba, Kiros & Hinton 2016.
class LayerNorm : public RowNorm<LayerNorm> {
 public:
  explicit LayerNorm(std::int64_t width, NormOptions options = {})
      : RowNorm(width, NormKind::layer, options) {}
  LayerNorm blank() const { return LayerNorm(width, options); }
};

/// Each vector of the last axis to mean square 1, then · weight. Zhang & Sennrich 2019.
class RMSNorm : public RowNorm<RMSNorm> {
 public:
  explicit RMSNorm(std::int64_t width, NormOptions options = {})
      : RowNorm(width, NormKind::rms, options) {}
  RMSNorm blank() const { return RMSNorm(width, options); }
};

/// LayerNorm or RMSNorm as an option of a block.
class Norm : public RowNorm<Norm> {
 public:
  explicit Norm(std::int64_t width, NormKind kind = NormKind::layer, NormOptions options = {})
      : RowNorm(width, kind, options) {}
  Norm blank() const { return Norm(width, kind, options); }
};

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // running = (1 − momentum) · running + momentum · this batch's
  bool affine = true;
};

/// Each channel to mean 0 and variance 1 over the batch, then · weight + bias: [N, width] or
/// [N, width, L] → the same. Training normalises by the batch and moves the running statistics;
/// evaluation normalises by those. Ioffe & Szegedy 2015.
class BatchNorm1d : public Layer<BatchNorm1d> {
 public:
  explicit BatchNorm1d(std::int64_t width, BatchNormOptions options = {});
  Tensor forward(const Tensor& x) const;
  Members members() override;
  BatchNorm1d blank() const { return BatchNorm1d(running_mean.size(0), options); }

  BatchNormOptions options;
  Tensor weight, bias;               // [width], from 1 and 0; undefined unless affine
  Tensor running_mean, running_var;  // [width], buffers, from 0 and 1
};

}  // namespace gradus::nn
