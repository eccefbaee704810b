#include "gradus/nn/extras/packing.h"

namespace gradus::nn {

void pack(Module& module, Precision precision) {
  if (precision == Precision::f32) return;
  std::vector<std::pair<Member, PackedMatrix>> all;  // put in place where none is refused
  for (const auto& [name, layer] : module.named_modules())
    for (const Member& weight : layer->members()) try {
        if (!weight.packed()) continue;
        require<GraphError>(!weight.packed()->defined(), "pack: ", name, " is packed already");
        if (weight.parameter()->defined())
          all.emplace_back(weight, gradus::pack(*weight.parameter(), precision));
      } catch (const ValueError& e) {
        fail<ValueError>(name, ".weight: ", e.what());
      }
  for (auto& [weight, numbers] : all) {
    *weight.packed() = std::move(numbers);
    *weight.parameter() = Tensor();
  }
}

Precision fast_precision(const Module& module) {
  constexpr std::int64_t kCached = 8 << 20;  // bytes that stay in the caches until the next token
  return 4 * module.parameter_count() <= kCached ? Precision::f32 : Precision::bf16;
}

}  // namespace gradus::nn
