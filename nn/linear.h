// Linear: the affine map.
#pragma once

#include "gradus/nn/module.h"

namespace gradus::nn {

struct LinearOptions {
  bool bias = true;
};

/// y = x Wᵀ + b:  x [..., in] → y [..., out]. Weight and bias start uniform in ±1/√in. With an
/// adapter (nn/extras/lora.h) of rank r: y = x Wᵀ + b + scale · x Aᵀ Bᵀ. Packed
/// (nn/extras/packing.h), W takes less room and is not trained.
class Linear : public Layer<Linear> {
 public:
  Linear() = default;  // undefined: a place for one
  Linear(std::int64_t in, std::int64_t out, LinearOptions options = {});
  Tensor forward(const Tensor& x) const;
  Members members() override {
    return {{"weight", weight, &packed},
            {"bias", bias},
            {"lora_a", lora_a},
            {"lora_b", lora_b},
            {"lora_scale", buffer(lora_scale)}};
  }
  Linear same_architecture() const { return {weight.size(1), weight.size(0), {bias.defined()}}; }

  Tensor weight;                      // [out, in]; undefined where packed
  PackedMatrix packed;                // undefined where not
  Tensor bias;                        // [out], undefined without
  Tensor lora_a, lora_b, lora_scale;  // A [r, in], B [out, r], scale []; undefined without adapter
};

}  // namespace gradus::nn
