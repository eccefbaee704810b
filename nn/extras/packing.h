#pragma once

#include "gradus/nn/weight_provider.h"
#include "gradus/ops/packed.h"

namespace gradus::nn {

/// Provides the weight of a packed layer, whose `weight` is undefined.
struct PackedWeight final : WeightProvider {
  explicit PackedWeight(PackedMatrix packed) : matrix(std::move(packed)) {}
  Tensor linear(const Tensor& x, const Tensor&, const Tensor& bias) const override {
    return gradus::linear(x, matrix, bias);
  }
  Tensor embedding(const Tensor&, const Tensor& ids, std::optional<std::int64_t>) const override {
    return gradus::embedding(matrix, ids);
  }
  Members members() override {
    return {{"weight", Unsaved{"is packed. Save, load and copy a model before nn::pack."}}};
  }
  std::unique_ptr<WeightProvider> same_architecture() const override {
    return std::make_unique<PackedWeight>(matrix);
  }

  PackedMatrix matrix;  // [out, in] in a Linear, [vocab, width] in an Embedding
};

/// Stores the weight of every Linear and Embedding below `module` in this precision. f32 changes
/// nothing. Arithmetic stays in f32. Packed layers propagate no gradient, and their state_dict()
/// throws. Throws ValueError if the format cannot represent a weight, and GraphError if a weight is
/// already packed, without changing the module.
void pack(Module& module, Precision precision);

/// Returns the precision that decodes fastest without visible loss of perplexity: bf16, or f32 if
/// the weights fit into the caches.
Precision fast_precision(const Module& module);

}  // namespace gradus::nn
