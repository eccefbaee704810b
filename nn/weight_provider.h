#pragma once

#include <memory>
#include <optional>

#include "gradus/nn/module.h"

namespace gradus::nn {

/// Replaces the weight W of a Linear or Embedding with an adapter or a packed copy. By default,
/// forwards to `inner`, or uses W if `inner` is null.
class WeightProvider {
 public:
  virtual ~WeightProvider() = default;
  /// Returns x Wᵀ + bias: x [..., in] → [..., out].
  virtual Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) const;
  /// Returns rows of W: ids [...] → [..., width].
  virtual Tensor embedding(const Tensor& weight, const Tensor& ids,
                           std::optional<std::int64_t> padding_idx) const;
  /// Returns this provider's members, without those of `inner`.
  virtual Members members() { return {}; }
  /// Returns a provider with the same members and without `inner`, for clone().
  virtual std::unique_ptr<WeightProvider> same_architecture() const = 0;

  std::unique_ptr<WeightProvider> inner;
};

/// Returns the members of a layer and of its providers.
Members with_provider(Members own, const std::unique_ptr<WeightProvider>& provider);
/// Returns a chain of providers of the same types with undefined members, or null if `from` is
/// null.
std::unique_ptr<WeightProvider> providers_like(const std::unique_ptr<WeightProvider>& from);
/// Implements match_structure() for a layer with a provider.
template <class L>
void copy_provider(L& to, const Module& from) {
  if (const auto* other = dynamic_cast<const L*>(&from))
    to.provider = providers_like(other->provider);
}

}  // namespace gradus::nn
