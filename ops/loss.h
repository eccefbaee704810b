// Losses of tensors against targets of the same shape. ShapeError, DtypeError unless both are f32
// or both f64, ValueError for an undefined tensor.
#pragma once

#include "gradus/engine/tensor.h"
#include "gradus/ops/cross_entropy.h"

namespace gradus {

/// Soft targets: −Σ_v p_v log softmax(logits)_v with `probabilities` of logits' shape and dtype.
Tensor cross_entropy_soft(const Tensor& logits, const Tensor& probabilities,
                          Reduction reduction = Reduction::mean);

/// (x − t)².
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// |x − t|.
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// ½ d² where |d| ≤ delta, else delta (|d| − ½ delta), d = x − t. Huber 1964.
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1.0,
                  Reduction reduction = Reduction::mean);
/// −t log σ(x) − (1 − t) log(1 − σ(x)), t in [0, 1].
Tensor bce_with_logits(const Tensor& x, const Tensor& target,
                       Reduction reduction = Reduction::mean);
/// t (log t − log_q), 0 where t = 0: KL(t ‖ q) from log-probabilities. mean: over all elements.
Tensor kl_div(const Tensor& log_q, const Tensor& target, Reduction reduction = Reduction::mean);

}  // namespace gradus
