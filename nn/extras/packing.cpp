// Packs all weights before changing any layer, so that an error leaves the model unchanged.
#include "gradus/nn/extras/packing.h"

#include <functional>

#include "gradus/nn/embedding.h"
#include "gradus/nn/linear.h"

namespace gradus::nn {

void pack(Module& module, Precision precision) {
  if (precision == Precision::f32) return;
  std::vector<std::function<void()>> exchanges;
  const auto add = [&](const std::string& name, auto* layer) {
    if (!layer) return;
    std::unique_ptr<WeightProvider>* place = &layer->provider;  // finds the innermost provider
    for (; *place; place = &(*place)->inner)
      require<GraphError>(!dynamic_cast<PackedWeight*>(place->get()), "pack: ", name,
                          " is already packed. Pack a model only once.");
    if (!layer->weight.defined()) return;
    try {
      exchanges.push_back([layer, place, packed = gradus::pack(layer->weight, precision)] {
        *place = std::make_unique<PackedWeight>(packed);
        layer->weight = Tensor();
      });
    } catch (const ValueError& e) {
      fail<ValueError>(name, ".weight: ", e.what());
    }
  };
  for (const auto& [name, layer] : module.named_modules()) {
    add(name, dynamic_cast<Linear*>(layer));
    add(name, dynamic_cast<Embedding*>(layer));
  }
  for (const auto& exchange : exchanges) exchange();
}

Precision fast_precision(const Module& module) {
  constexpr std::int64_t kCached = 8 << 20;  // bytes that stay cached between tokens
  return 4 * module.parameter_count() <= kCached ? Precision::f32 : Precision::bf16;
}

}  // namespace gradus::nn
