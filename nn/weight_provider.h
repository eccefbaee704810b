// WeightProvider: replaces the weight of a layer.
#pragma once

#include <memory>
#include <optional>

#include "gradus/nn/module.h"

namespace gradus::nn {

/// Replaces the weight W of a Linear or Embedding, by an adapter (nn/extras/lora.h) or a packed
/// copy (nn/extras/packing.h). Providers may be chained: the default forwards to `inner`, or uses
/// W.
class WeightProvider {
 public:
  virtual ~WeightProvider() = default;
  /// x Wᵀ + bias: x [..., in] → [..., out].
  virtual Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) const;
  /// Rows of W: ids [...] → [..., width].
  virtual Tensor embedding(const Tensor& weight, const Tensor& ids,
                           std::optional<std::int64_t> padding_idx) const;
  /// Added to the members of the layer. `inner` lists its own.
  virtual Members members() { return {}; }
  /// Returns one with the same members and no `inner`, for clone().
  virtual std::unique_ptr<WeightProvider> same_architecture() const = 0;

  std::unique_ptr<WeightProvider> inner;
};

/// The members of a layer and its providers.
Members with_provider(Members own, const std::unique_ptr<WeightProvider>& provider);
/// A new chain of the same types, members undefined. Null for null.
std::unique_ptr<WeightProvider> providers_like(const std::unique_ptr<WeightProvider>& from);
/// match_structure() of a layer with a provider.
template <class L>
void copy_provider(L& to, const Module& from) {
  if (const auto* other = dynamic_cast<const L*>(&from))
    to.provider = providers_like(other->provider);
}

}  // namespace gradus::nn
