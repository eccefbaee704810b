#include "gradus/ops/kernels/hidden.h"

#include "gradus/ops/create.h"
#include "gradus/ops/logic.h"

namespace gradus::kernel {

Hidden hidden_by(const Mask& mask, const MaskSizes& n) {
  if (mask.allows_everything()) return {};
  const Tensor allowed = mask.dense(n);
  Tensor keys = full({n.examples, n.heads, n.keys, 1}, true, Dtype::bool_);
  Tensor queries = full({n.examples, n.heads, n.queries, 1}, true, Dtype::bool_);
  const bool* sees = allowed.data<bool>();
  bool *key = keys.mutable_data<bool>(), *query = queries.mutable_data<bool>();
  for (std::int64_t head = 0; head < n.examples * n.heads; ++head, key += n.keys)
    for (std::int64_t i = 0; i < n.queries; ++i, ++query, sees += n.keys)
      for (std::int64_t j = 0; j < n.keys; ++j) {
        key[j] = key[j] && !sees[j];
        *query = *query && !sees[j];
      }
  return {logical_not(allowed), any(keys) ? keys : Tensor(), any(queries) ? queries : Tensor()};
}

Tensor without_rows(const Tensor& x, const Tensor& hidden) {
  return hidden.defined() ? masked_fill(x, hidden, 0) : x;
}

}  // namespace gradus::kernel
