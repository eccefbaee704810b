// Losses. Reductions: the mean over what counts, the sum, or each element's own.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

enum class Reduction { mean, sum, none };

struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;  // targets that do not count
  double label_smoothing = 0;        // in [0, 1): that much of the target spread over all classes
  Tensor weight = {};  // [V], of each class; the mean divides by the weights that counted
  Reduction reduction = Reduction::mean;
};
/// −log softmax(logits)[target]: logits [..., V], target i64 [...] in [0, V) or ignored. When every
/// target is ignored the mean is 0 with gradient 0.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options = {});

/// Soft targets: −Σ_v p_v log softmax(logits)_v with `probabilities` of logits' shape and dtype.
Tensor cross_entropy_soft(const Tensor& logits, const Tensor& probabilities,
                          Reduction reduction = Reduction::mean);

/// −log_probabilities[target]: cross_entropy's second half.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target,
                const CrossEntropyOptions& options = {});

// Element by element; shapes broadcast.
Tensor mse_loss(const Tensor& x, const Tensor& target,
                Reduction reduction = Reduction::mean);  // (x − t)²
Tensor l1_loss(const Tensor& x, const Tensor& target,
               Reduction reduction = Reduction::mean);  // |x − t|
/// ½ d² where |d| ≤ delta, else delta (|d| − ½ delta), d = x − t. Huber 1964.
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1.0,
                  Reduction reduction = Reduction::mean);
/// −t log σ(x) − (1 − t) log(1 − σ(x)), t in [0, 1].
Tensor bce_with_logits(const Tensor& x, const Tensor& target,
                       Reduction reduction = Reduction::mean);
/// t (log t − log_q), 0 where t = 0: KL(t ‖ q) from log-probabilities. mean: over all elements.
Tensor kl_div(const Tensor& log_q, const Tensor& target, Reduction reduction = Reduction::mean);

}  // namespace gradus
