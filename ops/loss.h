// Losses that compare x with a target of the same shape. Throw ShapeError, DtypeError unless both
// are f32 or both f64, and ValueError for an undefined tensor.
#pragma once

#include "gradus/engine/tensor.h"
#include "gradus/ops/cross_entropy.h"

namespace gradus {

/// Cross-entropy with soft targets: −Σ_v p_v log softmax(logits)_v. `probabilities` must have the
/// shape and dtype of `logits`.
Tensor cross_entropy_soft(const Tensor& logits, const Tensor& probabilities,
                          Reduction reduction = Reduction::mean);

/// Squared error, (x − t)².
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// Absolute error, |x − t|.
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// Huber loss: ½ d² where |d| ≤ delta, else delta (|d| − ½ delta), d = x − t. Huber 1964.
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1.0,
                  Reduction reduction = Reduction::mean);
/// Binary cross-entropy: −t log σ(x) − (1 − t) log(1 − σ(x)), t in [0, 1].
Tensor bce_with_logits(const Tensor& x, const Tensor& target,
                       Reduction reduction = Reduction::mean);
/// KL(t ‖ q), where q is given as log-probabilities: t (log t − log_q), 0 where t = 0. The mean is
/// over all elements.
Tensor kl_div(const Tensor& log_q, const Tensor& target, Reduction reduction = Reduction::mean);

}  // namespace gradus
