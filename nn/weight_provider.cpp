#include "gradus/nn/weight_provider.h"

#include "gradus/ops/indexing.h"
#include "gradus/ops/linear.h"

namespace gradus::nn {

Tensor WeightProvider::linear(const Tensor& x, const Tensor& weight, const Tensor& bias) const {
  return inner ? inner->linear(x, weight, bias) : gradus::linear(x, weight, bias);
}

Tensor WeightProvider::embedding(const Tensor& weight, const Tensor& ids,
                                 std::optional<std::int64_t> padding_idx) const {
  return inner ? inner->embedding(weight, ids, padding_idx)
               : gradus::embedding(weight, ids, padding_idx);
}

Members with_provider(Members own, const std::unique_ptr<WeightProvider>& provider) {
  for (WeightProvider* each = provider.get(); each; each = each->inner.get())
    for (Member& member : each->members()) own.push_back(std::move(member));
  return own;
}

std::unique_ptr<WeightProvider> providers_like(const std::unique_ptr<WeightProvider>& from) {
  if (!from) return nullptr;
  std::unique_ptr<WeightProvider> made = from->same_architecture();
  made->inner = providers_like(from->inner);
  return made;
}

}  // namespace gradus::nn
