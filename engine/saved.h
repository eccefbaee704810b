// Saved: what an operation keeps of its inputs and outputs for backward.
#pragma once

#include <cstdint>

#include "gradus/engine/tensor.h"

namespace gradus {

class NeedsGrad;

/// A tensor that backward will need. It knows if its values were written to in the meantime, and
/// drops values that are cheaper to compute again than to keep (see Op::is_recomputable).
class Saved {
 public:
  Saved() = default;
  Saved(const Tensor& x);  // NOLINT: implicit, an op saves by `x_ = x`

  /// The tensor as it was saved, with its place in the graph (for second derivatives).
  /// GraphError if the values were written to since: names the op that saved and the writer.
  Tensor value() const;

  /// value(), given up unless the graph is kept: if nothing else holds its buffer, the caller may
  /// overwrite it.
  Tensor take(const NeedsGrad& needs_grad);

  bool defined() const { return tensor_.defined() || producer_; }
  bool is_stored() const { return !producer_; }  // the values are here, not to be recomputed
  const Shape& shape() const { return tensor_.shape(); }
  Dtype dtype() const { return tensor_.dtype(); }

 private:
  Tensor tensor_;     // metadata only when it is to be recomputed, or was taken
  NodePtr producer_;  // whose op recomputes it
  std::uint32_t version_ = 0;
};

}  // namespace gradus
