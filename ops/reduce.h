// Reductions over one axis, multiple axes, or all axes (an empty list). Reduced axes are removed,
// or kept with size 1 if keepdim. Supports f32 and f64; sum, max, min and cumsum also support i64.
// Sums accumulate in double.
//
// Throw ValueError for an undefined tensor or a repeated axis, IndexError for an invalid axis,
// DtypeError for other dtypes.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   // empty x: 0
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // empty x: NaN
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // empty x: 1
/// Variance Σ (x − mean)² / (n − correction), and its square root; NaN where n ≤ correction.
/// correction = 1 estimates the variance of a population; 0 yields the mean squared deviation.
/// Throws ValueError if `correction` is negative.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
Tensor std(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
/// Maximum and minimum. Ties share the gradient equally. NaN wins. Throws ShapeError if x is empty.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// log Σ exp x. If all elements are −∞, the result is −∞ with gradient 0.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// √ Σ x². The derivative at 0 is 0.
Tensor norm(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// y_i = Σ_{j ≤ i} x_j along one axis. The result has x's shape.
Tensor cumsum(const Tensor& x, int axis);

}  // namespace gradus
