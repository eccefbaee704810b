// Reductions over one axis, several, or all (an empty list), which are removed, or kept with size 1
// if keepdim. f32 and f64; sum, max, min and cumsum also i64. Sums accumulate in double.
//
// Throw ValueError for an undefined tensor or a repeated axis, IndexError for an invalid axis,
// DtypeError for other dtypes.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   // if empty: 0
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // if empty: NaN
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // if empty: 1
/// Variance Σ (x − mean)² / (n − correction), and its root; NaN where n ≤ correction. correction =
/// 1 estimates a population's variance, 0 is the mean square. Throws ValueError if negative.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
Tensor std(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
/// Maximum and minimum. Ties share the gradient equally. NaN wins. Throw ShapeError if empty.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// log Σ exp x. If all are −∞: −∞ with gradient 0.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// √ Σ x². Derivative 0 at 0.
Tensor norm(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// y_i = Σ_{j ≤ i} x_j along one axis, in x's shape.
Tensor cumsum(const Tensor& x, int axis);

}  // namespace gradus
