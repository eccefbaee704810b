#include "gradus/nn/extras/lora.h"

#include <cmath>
#include <memory>
#include <utility>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/init.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/pattern.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"

namespace gradus::nn {
namespace {

LoRAAdapter* adapter_of(const Linear& linear) {
  return dynamic_cast<LoRAAdapter*>(linear.provider.get());
}

template <class Visit>
void each_linear(Module& module, Visit&& visit) {
  for (const auto& [name, each] : module.named_modules())
    if (auto* linear = dynamic_cast<Linear*>(each); linear && linear->weight.defined())
      visit(name, *linear);
}

bool is_adapter(const std::string& name) {
  return name.compare(name.rfind('.') + 1, 5, "lora_") == 0;  // npos + 1 is 0
}

}  // namespace

Tensor LoRAAdapter::linear(const Tensor& x, const Tensor& weight, const Tensor& bias) const {
  const Tensor y = WeightProvider::linear(x, weight, bias);  // [..., out]
  return y + gradus::linear(gradus::linear(x, a), b) * scale;
}

std::vector<std::string> add_adapters(Module& module, const std::string& pattern,
                                      const LoRA& options) {
  require(options.rank >= 1, "add_adapters: the rank must be at least 1, got ", options.rank);
  std::vector<std::string> names, all;
  each_linear(module, [&](const std::string& name, Linear& linear) {
    all.push_back(name);
    if (!matches(pattern, name)) return;
    require(!adapter_of(linear), "add_adapters: ", name,
            " already has an adapter. Merge it first.");
    names.push_back(name);
  });
  require(!names.empty(), "add_adapters: no linear layer matches \"", pattern,
          "\". Layers: ", all.empty() ? "none" : all.front() + " …");
  std::vector<std::pair<Linear*, std::unique_ptr<LoRAAdapter>>> made;
  each_linear(module, [&](const std::string& name, Linear& linear) {
    if (!matches(pattern, name)) return;
    const std::int64_t out = linear.weight.size(0), in = linear.weight.size(1);
    const Dtype dtype = linear.weight.dtype();
    auto adapter = std::make_unique<LoRAAdapter>();
    adapter->a = parameter(Tensor::empty({options.rank, in}, dtype));
    init::normal_(adapter->a, 0, 1 / std::sqrt(static_cast<double>(in)));
    adapter->b = parameter(zeros({out, options.rank}, dtype));
    adapter->scale = full({}, options.alpha / static_cast<double>(options.rank), dtype);
    made.emplace_back(&linear, std::move(adapter));
  });
  std::vector<NamedTensor> frozen = module.parameters();
  for (NamedTensor& each : frozen)
    if (!is_adapter(each.name)) each.tensor.requires_grad_(false);
  for (auto& [linear, adapter] : made) {  // allocates nothing, so all layers change or none
    adapter->inner = std::move(linear->provider);
    linear->provider = std::move(adapter);
  }
  return names;
}

void merge_adapters(Module& module) {
  each_linear(module, [&](const std::string&, Linear& linear) {
    LoRAAdapter* adapter = adapter_of(linear);
    if (!adapter) return;
    const NoGrad off;
    linear.weight.copy_(linear.weight + matmul(adapter->b, adapter->a) * adapter->scale);
    linear.provider = std::move(adapter->inner);
  });
  module.freeze(false);
}

StateDict adapter_state(const Module& module) {
  StateDict adapters;
  for (const auto& [name, tensor] : module.state_dict())
    if (is_adapter(name)) adapters[name] = tensor;
  return adapters;
}

}  // namespace gradus::nn
