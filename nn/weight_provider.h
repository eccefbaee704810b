// WeightProvider: what a layer computes with in place of its weight alone.
#pragma once

#include <memory>
#include <optional>

#include "gradus/nn/module.h"

namespace gradus::nn {

/// Replaces the weight W of a Linear or an Embedding: by W and an adapter (nn/extras/lora.h), or by
/// its values in fewer bytes (nn/extras/packing.h). A provider may build on another one, `inner`:
/// by default it computes what `inner` does, or without one what the layer does.
class WeightProvider {
 public:
  virtual ~WeightProvider() = default;
  /// x Wᵀ + bias: x [..., in] → [..., out].
  virtual Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) const;
  /// Rows of W: ids [...] → [..., width].
  virtual Tensor embedding(const Tensor& weight, const Tensor& ids,
                           std::optional<std::int64_t> padding_idx) const;
  /// Listed among the members of the layer. `inner` lists its own.
  virtual Members members() { return {}; }
  /// One with the same members and no `inner`, for clone().
  virtual std::unique_ptr<WeightProvider> same_architecture() const = 0;

  std::unique_ptr<WeightProvider> inner;
};

/// The members of a layer, then those of its provider and of all that this one builds on.
Members with_provider(Members own, const std::unique_ptr<WeightProvider>& provider);
/// `from` and all that it builds on, with members of their own, still undefined; null for null.
std::unique_ptr<WeightProvider> providers_like(const std::unique_ptr<WeightProvider>& from);
/// match_structure() of a layer with a provider.
template <class L>
void copy_provider(L& to, const Module& from) {
  if (const auto* other = dynamic_cast<const L*>(&from))
    to.provider = providers_like(other->provider);
}

}  // namespace gradus::nn
