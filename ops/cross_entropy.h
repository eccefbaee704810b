#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

/// Reduction of the losses that are not ignored.
enum class Reduction { mean, sum, none };

/// Options of cross_entropy() and nll_loss(). Defaults are as in PyTorch.
struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;  // target value to ignore
  double label_smoothing = 0;        // fraction of the target spread over all classes, in [0, 1)
  Tensor weight = {};  // [V], class weights; the mean divides by the sum of the targets' weights
  Reduction reduction = Reduction::mean;
};
/// Returns −log softmax(logits)[target] for logits [..., V] and target i64 [...] in [0, V) or
/// ignored. If all targets are ignored, the mean is 0 with gradient 0. Throws ShapeError,
/// DtypeError, IndexError for an invalid class, or ValueError for an invalid label_smoothing.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options = {});

/// Returns −log_probabilities[target]. cross_entropy() is nll_loss() of log_softmax().
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target,
                const CrossEntropyOptions& options = {});

}  // namespace gradus
