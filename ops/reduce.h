// Reductions over one axis, several, or all (an empty list). keepdim leaves them with size 1.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   // of nothing: 0
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // of nothing: NaN
/// Σ (x − mean)² / (n − correction). correction 1 estimates a population's; 0 is the mean square.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
Tensor std(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
/// The gradient of a tie is shared equally. Of nothing: ShapeError. NaN wins.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor logsumexp(const Tensor& x, const Axes& axes = {},
                 bool keepdim = false);  // of −∞s: −∞, gradient 0
Tensor prod(const Tensor& x, const Axes& axes = {},
            bool keepdim = false);         // gradient right with zeros
Tensor cumsum(const Tensor& x, int axis);  // y_i = Σ_{j ≤ i} x_j
/// √ Σ x²; derivative 0 at 0.
Tensor norm(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

}  // namespace gradus
