#include "gradus/nn/packing.h"

namespace gradus::nn {
namespace {

/// Weights of so few bytes stay in the caches from one token to the next.
constexpr std::int64_t kCached = 8 << 20;

/// f(name of its layer, member) for each weight that can be packed.
template <class F>
void each_weight(Module& module, F&& f) {
  for (const auto& [name, layer] : module.named_modules())
    for (const Member& member : layer->members())
      if (member.packed()) f(name, member);
}

}  // namespace

void pack(Module& module, Precision precision) {
  if (precision == Precision::f32) return;
  std::vector<std::pair<Member, PackedMatrix>> all;  // put in place where none is refused
  each_weight(module, [&](const std::string& name, const Member& weight) {
    require<GraphError>(!weight.packed()->defined(), "pack: ", name, " is packed already");
    if (!weight.parameter()->defined()) return;
    try {
      all.emplace_back(weight, gradus::pack(*weight.parameter(), precision));
    } catch (const ValueError& e) {
      fail<ValueError>(name, ".weight: ", e.what());
    }
  });
  for (auto& [weight, numbers] : all) {
    *weight.packed() = std::move(numbers);
    *weight.parameter() = Tensor();
  }
}

std::int64_t weight_bytes(Module& module) {
  std::int64_t bytes = 0;
  for (const auto& list : {module.parameters(), module.buffers()})
    for (const NamedTensor& each : list)
      bytes += each.tensor.numel() * static_cast<std::int64_t>(size_of(each.tensor.dtype()));
  each_weight(module,
              [&](const std::string&, const Member& weight) { bytes += weight.packed()->bytes(); });
  return bytes;
}

Precision fast_precision(const Module& module) {
  return 4 * module.parameter_count() <= kCached ? Precision::f32 : Precision::bf16;
}

}  // namespace gradus::nn
