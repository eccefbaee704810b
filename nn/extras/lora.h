// LoRA: trainable low-rank adapters for a frozen model.
#pragma once

#include <string>
#include <vector>

#include "gradus/nn/weight_provider.h"

namespace gradus::nn {

/// Low-rank adapter options: y = x Wᵀ + b + (alpha / rank) · x Aᵀ Bᵀ with A [rank, in] and B [out,
/// rank]. A starts as normal(0, 1/√in) and B as 0, so that y is unchanged at first. Hu et al. 2022.
struct LoRA {
  std::int64_t rank = 8;
  double alpha = 16;
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

/// Adds an adapter to every Linear below `module` whose name matches the pattern
/// ("*.qkv_proj,*.out_proj", see nn/pattern.h), and freezes all parameters except adapters. Skips
/// packed layers. Returns the names. Throws ValueError if none matches, if one already has an
/// adapter, or if rank < 1.
std::vector<std::string> add_adapters(Module& module, const std::string& pattern,
                                      const LoRA& options = {});

/// Adds (alpha / rank) · B A to each weight W and removes the adapters, except those of packed
/// layers. Unfreezes all parameters.
void merge_adapters(Module& module);

/// Returns only the adapters' tensors, by name. load_state_dict(…, false) loads them into a module
/// with such adapters.
StateDict adapter_state(const Module& module);

}  // namespace gradus::nn
