#pragma once

#include <string>
#include <vector>

#include "gradus/nn/weight_provider.h"

namespace gradus::nn {

/// Options of low-rank adapters: y = x Wᵀ + b + (alpha / rank) · x Aᵀ Bᵀ. A [rank, in] is
/// initialized from normal(0, 1/√in), B [out, rank] with 0. Hu et al. 2022.
struct LoRA {
  std::int64_t rank = 8;
  double alpha = 16;  // the adapter is scaled by alpha / rank
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

/// Adds an adapter to every unpacked Linear below `module` whose name matches `pattern`
/// ("*.qkv_proj,*.out_proj", see nn/pattern.h). Freezes all other parameters. Returns the names of
/// the adapted layers. Throws ValueError if no name matches, a layer already has an adapter, or
/// rank < 1.
std::vector<std::string> add_adapters(Module& module, const std::string& pattern,
                                      const LoRA& options = {});

/// Adds (alpha / rank) · B A to each W and removes the adapters, except in packed layers. Unfreezes
/// all parameters.
void merge_adapters(Module& module);

/// Returns only the tensors of the adapters. Load them with load_state_dict(…, false).
StateDict adapter_state(const Module& module);

}  // namespace gradus::nn
