// Reductions over one axis, several, or all (an empty list): without those axes, or with keepdim as
// size 1. f32 and f64; sum, max, min and cumsum also i64. Sums are added up in double.
//
// ValueError for an undefined tensor or an axis named twice, IndexError for an axis that x does not
// have, DtypeError for another dtype.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   // of nothing: 0
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // of nothing: NaN
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // of nothing: 1
/// Σ (x − mean)² / (n − correction), and its root; NaN where n ≤ correction. correction 1 estimates
/// a population's, 0 is the mean square. ValueError for a negative one.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
Tensor std(const Tensor& x, const Axes& axes = {}, bool keepdim = false, int correction = 1);
/// The largest, the smallest. The gradient of a tie is shared equally; NaN wins. ShapeError of
/// nothing.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// log Σ exp x; of −∞s −∞, with gradient 0.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// √ Σ x²; derivative 0 at 0.
Tensor norm(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// y_i = Σ_{j ≤ i} x_j along one axis: x's shape.
Tensor cumsum(const Tensor& x, int axis);

}  // namespace gradus
