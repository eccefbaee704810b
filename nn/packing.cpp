#include "gradus/nn/packing.h"

#include "gradus/base/function_ref.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/linear.h"

namespace gradus::nn {
namespace {

/// Weights of so few bytes stay in the caches from one token to the next.
constexpr std::int64_t kCached = 8 << 20;

void each_module(const std::string& name, Module& module,
                 FunctionRef<void(const std::string&, Module&)> visit) {
  visit(name, module);
  for (const Member& member : module.members())
    for (const auto& [suffix, child] : member.children())
      each_module(name + (name.empty() ? "" : ".") + member.name() + suffix, *child, visit);
}

template <class L>
void pack_layer(const std::string& name, Module& module, Precision precision) {
  auto* layer = dynamic_cast<L*>(&module);
  if (!layer) return;
  require<GraphError>(!layer->packed.defined(), "pack: ", name, " is packed already");
  if (!layer->weight.defined()) return;
  try {
    layer->packed = gradus::pack(layer->weight, precision);
  } catch (const ValueError& e) {
    fail<ValueError>(name, ".weight: ", e.what());
  }
  layer->weight = Tensor();
}

}  // namespace

void pack(Module& module, Precision precision) {
  if (precision == Precision::f32) return;
  each_module("", module, [&](const std::string& name, Module& each) {
    pack_layer<Linear>(name, each, precision);
    pack_layer<Embedding>(name, each, precision);
  });
}

std::int64_t weight_bytes(Module& module) {
  std::int64_t bytes = 0;
  for (const NamedTensor& each : module.named_tensors())
    bytes += each.tensor.numel() * static_cast<std::int64_t>(size_of(each.tensor.dtype()));
  each_module("", module, [&](const std::string&, Module& each) {
    if (const auto* layer = dynamic_cast<const Linear*>(&each)) bytes += layer->packed.bytes();
    if (const auto* layer = dynamic_cast<const Embedding*>(&each)) bytes += layer->packed.bytes();
  });
  return bytes;
}

Precision fast_precision(const Module& module) {
  return 4 * module.parameter_count() <= kCached ? Precision::f32 : Precision::bf16;
}

}  // namespace gradus::nn
