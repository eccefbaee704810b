// Saved: a tensor that an operation keeps for backward.
#pragma once

#include <cstdint>

#include "gradus/engine/tensor.h"

namespace gradus {

class NeedsGrad;

/// A tensor saved for backward. Detects later writes to its values. Drops values that are cheaper
/// to recompute than to keep (Op::is_recomputable).
class Saved {
 public:
  Saved() = default;
  Saved(const Tensor& x);  // NOLINT: implicit, an op saves by `x_ = x`

  /// Returns the saved tensor with its graph node (for second derivatives). Throws GraphError if it
  /// was written to since, naming the location of the write.
  Tensor value() const;

  /// Returns value() and, unless the graph is kept, drops it. If the buffer is then unshared, the
  /// caller may overwrite it.
  Tensor take(const NeedsGrad& needs_grad);

  bool defined() const { return tensor_.defined() || producer_; }
  bool is_stored() const { return !producer_; }  // false if recomputed on demand
  const Shape& shape() const { return tensor_.shape(); }
  Dtype dtype() const { return tensor_.dtype(); }

 private:
  Tensor tensor_;     // metadata only, if recomputed or taken
  NodePtr producer_;  // recomputes it
  std::uint32_t version_ = 0;
};

}  // namespace gradus
