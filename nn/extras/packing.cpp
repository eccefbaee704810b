// Packing: the weights of all layers are converted first and exchanged once none has been refused.
#include "gradus/nn/extras/packing.h"

#include "gradus/nn/embedding.h"
#include "gradus/nn/linear.h"

namespace gradus::nn {

void pack(Module& module, Precision precision) {
  if (precision == Precision::f32) return;
  struct Exchange {
    Tensor* weight;
    std::unique_ptr<WeightProvider>* place;  // behind an adapter, which builds on it
    std::unique_ptr<WeightProvider> packed;
  };
  std::vector<Exchange> all;
  const auto add = [&](const std::string& name, auto* layer) {
    if (!layer) return;
    std::unique_ptr<WeightProvider>* place = &layer->provider;
    for (; *place; place = &(*place)->inner)
      require<GraphError>(!dynamic_cast<PackedWeight*>(place->get()), "pack: ", name,
                          " is packed already");
    if (!layer->weight.defined()) return;
    try {
      all.push_back({&layer->weight, place,
                     std::make_unique<PackedWeight>(gradus::pack(layer->weight, precision))});
    } catch (const ValueError& e) {
      fail<ValueError>(name, ".weight: ", e.what());
    }
  };
  for (const auto& [name, layer] : module.named_modules()) {
    add(name, dynamic_cast<Linear*>(layer));
    add(name, dynamic_cast<Embedding*>(layer));
  }
  for (Exchange& each : all) {
    *each.place = std::move(each.packed);
    *each.weight = Tensor();
  }
}

Precision fast_precision(const Module& module) {
  constexpr std::int64_t kCached = 8 << 20;  // bytes that stay in the caches until the next token
  return 4 * module.parameter_count() <= kCached ? Precision::f32 : Precision::bf16;
}

}  // namespace gradus::nn
