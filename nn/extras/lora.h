// LoRA: low-rank adapters.
#pragma once

#include <string>
#include <vector>

#include "gradus/nn/weight_provider.h"

namespace gradus::nn {

/// Low-rank adapters: y = x Wᵀ + b + (alpha / rank) · x Aᵀ Bᵀ, A [rank, in] from normal(0, 1/√in),
/// B [out, rank] from 0. Hu et al. 2022.
struct LoRA {
  std::int64_t rank = 8;
  double alpha = 16;  // scale of the adapter, times rank
};

/// Adapter of a Linear: adds scale · x Aᵀ Bᵀ to y.
struct LoRAAdapter final : WeightProvider {
  Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) const override;
  Members members() override {
    return {{"lora_a", a}, {"lora_b", b}, {"lora_scale", buffer(scale)}};
  }
  std::unique_ptr<WeightProvider> same_architecture() const override {
    return std::make_unique<LoRAAdapter>();
  }

  Tensor a, b, scale;  // [rank, in], [out, rank], []
};

/// Adds an adapter to every Linear below `module` whose name matches ("*.qkv_proj,*.out_proj", see
/// nn/pattern.h), except packed ones. Freezes all other parameters. Returns the names. Throws
/// ValueError if none matches, one has an adapter, or rank < 1.
std::vector<std::string> add_adapters(Module& module, const std::string& pattern,
                                      const LoRA& options = {});

/// Adds (alpha / rank) · B A to each W and removes the adapters, except of packed layers. Unfreezes
/// all parameters.
void merge_adapters(Module& module);

/// Returns only the adapters' tensors. Load them with load_state_dict(…, false).
StateDict adapter_state(const Module& module);

}  // namespace gradus::nn
