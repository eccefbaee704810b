// Comparisons, logic and selection. Throw ValueError for an undefined tensor, DtypeError for an
// unsupported or mismatched dtype, ShapeError if shapes do not broadcast.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

// Comparisons of f32, f64 or i64 tensors, broadcast → bool, without a gradient. NaN is unequal to
// everything, and neither less nor greater. i64 tensors are compared exactly with any number: 2.5
// is not rounded.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor equal(const Tensor& a, Scalar b);
Tensor not_equal(const Tensor& a, Scalar b);
Tensor less(const Tensor& a, Scalar b);
Tensor less_equal(const Tensor& a, Scalar b);
Tensor greater(const Tensor& a, Scalar b);
Tensor greater_equal(const Tensor& a, Scalar b);

inline Tensor operator==(const Tensor& a, const Tensor& b) { return equal(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return not_equal(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return less(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return less_equal(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return greater(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return greater_equal(a, b); }
inline Tensor operator==(const Tensor& a, Scalar b) { return equal(a, b); }
inline Tensor operator!=(const Tensor& a, Scalar b) { return not_equal(a, b); }
inline Tensor operator<(const Tensor& a, Scalar b) { return less(a, b); }
inline Tensor operator<=(const Tensor& a, Scalar b) { return less_equal(a, b); }
inline Tensor operator>(const Tensor& a, Scalar b) { return greater(a, b); }
inline Tensor operator>=(const Tensor& a, Scalar b) { return greater_equal(a, b); }

// Logical operations on bool tensors, broadcast → bool.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);

Tensor isfinite(const Tensor& x);  // f32 or f64 → bool: neither NaN nor ±∞
Tensor isnan(const Tensor& x);     // f32 or f64 → bool

bool all(const Tensor& x);  // bool tensor; true if empty
bool any(const Tensor& x);  // bool tensor; false if empty
/// Like all and any, but along one axis of a bool tensor. keepdim keeps the axis with size 1.
/// Throws IndexError.
Tensor all(const Tensor& x, int axis, bool keepdim = false);
Tensor any(const Tensor& x, int axis, bool keepdim = false);

/// Selects condition ? a : b for each element, broadcast. `condition` is bool; a and b have the
/// same dtype. The gradient flows to the selected values.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Scalar b);

/// Replaces elements of x by `value` where the bool mask is true; their gradient is 0. Throws
/// ShapeError unless `mask` broadcasts to x's shape.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);

}  // namespace gradus
