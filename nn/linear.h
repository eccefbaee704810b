#pragma once

#include "gradus/nn/module.h"
#include "gradus/nn/weight_provider.h"

namespace gradus::nn {

/// Options of Linear.
struct LinearOptions {
  bool bias = true;
};

/// y = x Wᵀ + b:  x [..., in] → y [..., out]. Weight and bias are initialized uniformly in ±1/√in.
class Linear : public Layer<Linear> {
 public:
  Linear() = default;  // undefined until assigned
  Linear(std::int64_t in, std::int64_t out, LinearOptions options = {});
  Tensor forward(const Tensor& x) const;
  Members members() override {
    return with_provider({{"weight", weight}, {"bias", bias}}, provider);
  }
  Linear same_architecture() const { return {weight.size(1), weight.size(0), {bias.defined()}}; }

  Tensor weight;                             // [out, in]; undefined if packed
  Tensor bias;                               // [out], or undefined
  std::unique_ptr<WeightProvider> provider;  // if not null, replaces the weight

 protected:
  void match_structure(const Module& from) override { copy_provider(*this, from); }
};

}  // namespace gradus::nn
