#pragma once

#include <cstdint>

#include "gradus/engine/tensor.h"

namespace gradus {

class NeedsGrad;

/// A tensor that an op stores for backward. Detects later writes to it. Drops values that are
/// cheaper to recompute (Op::is_recomputable).
class Saved {
 public:
  Saved() = default;
  Saved(const Tensor& x);  // NOLINT: implicit, an op saves by `x_ = x`

  /// Returns the tensor with its graph node, for second derivatives. Throws GraphError if the
  /// values were overwritten, with the location of that write.
  Tensor value() const;

  /// Returns value() and drops the saved tensor unless the graph is kept. The caller may overwrite
  /// an unshared buffer.
  Tensor take(const NeedsGrad& needs_grad);

  bool defined() const { return tensor_.defined() || producer_; }
  bool is_stored() const { return !producer_; }  // false if recomputed on demand
  const Shape& shape() const { return tensor_.shape(); }
  Dtype dtype() const { return tensor_.dtype(); }

 private:
  Tensor tensor_;     // metadata only, if recomputed or taken
  NodePtr producer_;  // node that recomputes the tensor; null if stored
  std::uint32_t version_ = 0;
};

}  // namespace gradus
