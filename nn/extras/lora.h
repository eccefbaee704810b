// Low-rank adapters: a model learns something more while its own weights stay as they are.
#pragma once

#include <string>
#include <vector>

#include "gradus/nn/weight_provider.h"

namespace gradus::nn {

/// Hu et al. 2022: y = x Wᵀ + b + (alpha / rank) · x Aᵀ Bᵀ with A [rank, in] and B [out, rank]. A
/// starts normal(0, 1/√in), B 0, so that nothing changes until something is learned.
struct LoRA {
  std::int64_t rank = 8;
  double alpha = 16;
};

/// The adapter of a Linear: scale · x Aᵀ Bᵀ is added to y.
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

/// Gives every Linear below `module` whose name matches an adapter, and lets adapters alone want
/// gradients: "*.qkv_proj,*.out_proj", where "*" stands for any characters and a comma for "or".
/// Packed layers are left out. Returns the names. ValueError where none matches, where one has an
/// adapter already, and for a rank below 1.
std::vector<std::string> add_adapters(Module& module, const std::string& pattern,
                                      const LoRA& options = {});

/// W + (alpha / rank) · B A becomes the weight of each, and the adapters are gone, but for those of
/// packed layers. Parameters want gradients again.
void merge_adapters(Module& module);

/// The adapters alone, by name: what is saved apart. load_state_dict(…, false) reads them into a
/// module that has such adapters.
StateDict adapter_state(const Module& module);

}  // namespace gradus::nn
