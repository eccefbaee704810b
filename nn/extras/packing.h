// Packing: a model that is used and no longer trained keeps its weights in less memory.
#pragma once

#include "gradus/nn/weight_provider.h"
#include "gradus/ops/packed.h"

namespace gradus::nn {

/// The weight of a packed layer. Its place as a parameter is undefined.
struct PackedWeight final : WeightProvider {
  explicit PackedWeight(PackedMatrix packed) : matrix(std::move(packed)) {}
  Tensor linear(const Tensor& x, const Tensor&, const Tensor& bias) const override {
    return gradus::linear(x, matrix, bias);
  }
  Tensor embedding(const Tensor&, const Tensor& ids, std::optional<std::int64_t>) const override {
    return gradus::embedding(matrix, ids);
  }
  Members members() override {
    return {{"weight", Unsaved{"is packed: save, load and copy a model before nn::pack"}}};
  }
  std::unique_ptr<WeightProvider> same_architecture() const override {
    return std::make_unique<PackedWeight>(matrix);
  }

  PackedMatrix matrix;  // [out, in], or [vocab, width]
};

/// Every Linear and Embedding below `module` keeps its weight as `precision` from now on; their
/// biases, adapters, and all parameters of norms stay f32, as does the arithmetic. No gradient
/// flows through such a layer, and state_dict() fails. f32 changes nothing. ValueError names the
/// weight that the format cannot hold; GraphError: one that is packed already. After an error
/// nothing is packed.
void pack(Module& module, Precision precision);

/// The precision at which this model decodes fastest without a loss that perplexity shows: bf16, or
/// f32 for weights that the caches hold, which no narrower ones are read faster than.
Precision fast_precision(const Module& module);

}  // namespace gradus::nn
