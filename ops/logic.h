// Comparisons and logic: results are bool tensors and carry no gradient. Shapes broadcast.
#pragma once

#include "gradus/engine/tensor.h"

namespace gradus {

Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor equal(const Tensor& a, double b);
Tensor not_equal(const Tensor& a, double b);
Tensor less(const Tensor& a, double b);
Tensor less_equal(const Tensor& a, double b);
Tensor greater(const Tensor& a, double b);
Tensor greater_equal(const Tensor& a, double b);

inline Tensor operator==(const Tensor& a, const Tensor& b) { return equal(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return not_equal(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return less(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return less_equal(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return greater(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return greater_equal(a, b); }
inline Tensor operator==(const Tensor& a, double b) { return equal(a, b); }
inline Tensor operator!=(const Tensor& a, double b) { return not_equal(a, b); }
inline Tensor operator<(const Tensor& a, double b) { return less(a, b); }
inline Tensor operator<=(const Tensor& a, double b) { return less_equal(a, b); }
inline Tensor operator>(const Tensor& a, double b) { return greater(a, b); }
inline Tensor operator>=(const Tensor& a, double b) { return greater_equal(a, b); }

Tensor logical_and(const Tensor& a, const Tensor& b);  // bool tensors
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);

Tensor isfinite(const Tensor& x);  // f32 or f64
Tensor isnan(const Tensor& x);

bool all(const Tensor& x);  // of a bool tensor; true when it is empty
bool any(const Tensor& x);
Tensor all(const Tensor& x, int axis, bool keepdim = false);
Tensor any(const Tensor& x, int axis, bool keepdim = false);

/// condition ? a : b, element by element; the gradient goes where the value came from.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

/// x with `value` where mask is true; no gradient passes there. mask broadcasts to x's shape.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

}  // namespace gradus
