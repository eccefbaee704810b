// Comparisons, logic, and choosing by them. ValueError for an undefined tensor, DtypeError for a
// dtype that is not taken or two that differ, ShapeError where shapes do not broadcast.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

// Comparisons of f32, f64 or i64, broadcast → bool, without a gradient. NaN differs from all
// numbers, and is neither less nor greater. An i64 tensor is compared with a C++ number as it is:
// with 2.5, not with 2, and with 2⁵³ + 1, not with 2⁵³.
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

// Of bool tensors, broadcast → bool.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);

Tensor isfinite(const Tensor& x);  // f32 or f64 → bool: neither NaN nor ±∞
Tensor isnan(const Tensor& x);     // f32 or f64 → bool

bool all(const Tensor& x);  // of a bool tensor; true when it is empty
bool any(const Tensor& x);  // of a bool tensor; false when it is empty
/// Along one axis of a bool tensor → bool, without the axis, or with size 1. IndexError.
Tensor all(const Tensor& x, int axis, bool keepdim = false);
Tensor any(const Tensor& x, int axis, bool keepdim = false);

/// condition ? a : b, element by element: condition bool, a and b of one dtype; all broadcast. The
/// gradient goes where the value came from.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Scalar b);

/// x with `value` where the bool mask is true; no gradient passes there. mask broadcasts to x's
/// shape, else ShapeError.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);

}  // namespace gradus
