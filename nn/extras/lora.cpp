// Adapters live in nn::Linear; here they are made, merged and collected.
#include "gradus/nn/extras/lora.h"

#include <cmath>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/init.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/pattern.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"

namespace gradus::nn {
namespace {

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

std::vector<std::string> add_adapters(Module& module, const std::string& pattern,
                                      const LoRA& options) {
  require(options.rank >= 1, "add_adapters: a rank of ", options.rank, ": must be at least 1");
  std::vector<std::string> names, all;
  each_linear(module, [&](const std::string& name, Linear& linear) {
    all.push_back(name);
    if (!matches(pattern, name)) return;
    require(!linear.lora_a.defined(), "add_adapters: ", name, " has an adapter: merge it first");
    names.push_back(name);
  });
  require(!names.empty(), "add_adapters: no linear layer is called \"", pattern, "\": there are ",
          all.empty() ? "none" : all.front() + " …");
  for (const NamedTensor& each : module.parameters())
    if (!is_adapter(each.name)) Tensor(each.tensor).requires_grad_(false);
  each_linear(module, [&](const std::string& name, Linear& linear) {
    if (!matches(pattern, name)) return;
    const std::int64_t out = linear.weight.size(0), in = linear.weight.size(1);
    const Dtype dtype = linear.weight.dtype();
    linear.lora_a = parameter(Tensor::empty({options.rank, in}, dtype));
    init::normal_(linear.lora_a, 0, 1 / std::sqrt(static_cast<double>(in)));
    linear.lora_b = parameter(zeros({out, options.rank}, dtype));
    linear.lora_scale = full({}, options.alpha / static_cast<double>(options.rank), dtype);
  });
  return names;
}

void merge_adapters(Module& module) {
  each_linear(module, [&](const std::string&, Linear& linear) {
    if (!linear.lora_a.defined()) return;
    const NoGrad off;
    linear.weight.copy_(linear.weight + matmul(linear.lora_b, linear.lora_a) * linear.lora_scale);
    linear.lora_a = linear.lora_b = linear.lora_scale = Tensor();
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
