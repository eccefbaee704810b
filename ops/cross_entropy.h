// Losses of logits or log-probabilities against classes.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// Of a loss: the mean over what counts, the sum, or each element's own.
enum class Reduction { mean, sum, none };

struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;  // targets that do not count
  double label_smoothing = 0;        // in [0, 1): that much of the target spread over all classes
  Tensor weight = {};  // [V], of each class; the mean divides by the weights that counted
  Reduction reduction = Reduction::mean;
};
/// −log softmax(logits)[target]: logits [..., V], target i64 [...] in [0, V) or ignored. When every
/// target is ignored the mean is 0 with gradient 0. ShapeError, DtypeError; IndexError for a class
/// out of range; ValueError for a label_smoothing out of range.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options = {});

/// −log_probabilities[target]: cross_entropy's second half.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target,
                const CrossEntropyOptions& options = {});

}  // namespace gradus
