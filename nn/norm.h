#pragma once

#include "gradus/nn/module.h"

namespace gradus::nn {

/// Options of LayerNorm, RMSNorm and Norm.
struct NormOptions {
  double eps = 1e-5;   // added to the variance (or mean square) under the square root
  bool affine = true;  // true: learns a weight, and a bias if the norm has one
};

/// Type of a Norm: LayerNorm or RMSNorm.
enum class NormKind { layer, rms };

/// Base class of LayerNorm, RMSNorm and Norm: [..., width] → [..., width].
class VectorNorm {
 public:
  std::int64_t width = 0;
  NormKind kind = NormKind::layer;
  NormOptions options;
  Tensor weight, bias;  // [width], start as 1 and 0; undefined unless affine; no bias if rms

 protected:
  VectorNorm() = default;
  VectorNorm(const char* layer, std::int64_t width, NormKind kind, NormOptions options);
  Tensor normalize(const char* layer, const Tensor& x) const;
};

/// Normalizes the last axis to mean 0 and variance 1, then multiplies by weight and adds bias. Ba,
/// Kiros & Hinton 2016.
class LayerNorm : public Layer<LayerNorm>, public VectorNorm {
 public:
  explicit LayerNorm(std::int64_t size, NormOptions given = {})
      : VectorNorm("LayerNorm", size, NormKind::layer, given) {}
  Tensor forward(const Tensor& x) const { return normalize("LayerNorm", x); }
  Members members() override { return {{"weight", weight}, {"bias", bias}}; }
  LayerNorm same_architecture() const { return LayerNorm(width, options); }
};

/// Normalizes the last axis to mean square 1, then multiplies by weight. Zhang & Sennrich 2019.
class RMSNorm : public Layer<RMSNorm>, public VectorNorm {
 public:
  RMSNorm() = default;  // undefined until assigned
  explicit RMSNorm(std::int64_t size, NormOptions given = {})
      : VectorNorm("RMSNorm", size, NormKind::rms, given) {}
  Tensor forward(const Tensor& x) const { return normalize("RMSNorm", x); }
  Members members() override { return {{"weight", weight}}; }
  RMSNorm same_architecture() const { return RMSNorm(width, options); }
};

/// A LayerNorm or RMSNorm, selected by NormKind.
class Norm : public Layer<Norm>, public VectorNorm {
 public:
  explicit Norm(std::int64_t size, NormKind which = NormKind::layer, NormOptions given = {})
      : VectorNorm("Norm", size, which, given) {}
  Tensor forward(const Tensor& x) const { return normalize("Norm", x); }
  Members members() override { return {{"weight", weight}, {"bias", bias}}; }
  Norm same_architecture() const { return Norm(width, kind, options); }
};

/// Options of BatchNorm1d. Defaults are as in PyTorch.
struct BatchNormOptions {
  double eps = 1e-5;      // added to the variance
  double momentum = 0.1;  // running = (1 − momentum) · running + momentum · batch
  bool affine = true;     // true: learns a weight and a bias
};

/// Normalizes each channel over the batch to mean 0 and variance 1, then multiplies by weight and
/// adds bias. x has shape [N, width] or [N, width, L]. Training updates the running statistics,
/// even in a const layer; evaluation uses them. Ioffe & Szegedy 2015.
class BatchNorm1d : public Layer<BatchNorm1d> {
 public:
  explicit BatchNorm1d(std::int64_t width, BatchNormOptions options = {});
  Tensor forward(const Tensor& x) const;
  Members members() override {
    return {{"weight", weight},
            {"bias", bias},
            {"running_mean", buffer(running_mean)},
            {"running_var", buffer(running_var)}};
  }
  BatchNorm1d same_architecture() const { return BatchNorm1d(running_mean.numel(), options); }

  BatchNormOptions options;
  Tensor weight, bias;               // [width], start as 1 and 0; undefined unless affine
  Tensor running_mean, running_var;  // [width], start as 0 and 1
};

}  // namespace gradus::nn
