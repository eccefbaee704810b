// Argument checks. Errors begin with the op's name.
#pragma once

#include <algorithm>
#include <concepts>

#include "gradus/engine/tensor.h"

namespace gradus {

template <std::same_as<Tensor>... X>
void check_defined(const char* op, const X&... x) {
  require<ValueError>((x.defined() && ...), op, ": a tensor is undefined. Assign a value first.");
}

/// Checks that x is defined and has the axis. Returns the nonnegative axis.
inline int check_axis(const char* op, const Tensor& x, int axis) {
  check_defined(op, x);
  return normalize_axis(op, axis, x.rank());
}

inline Axes check_axes(const char* op, const Tensor& x, const Axes& axes) {
  Axes all;
  for (const std::int64_t given : axes) {
    const int axis = check_axis(op, x, static_cast<int>(given));
    require(std::find(all.begin(), all.end(), axis) == all.end(), op, ": axis ", axis, " of ",
            x.shape(), " appears twice in ", axes, ". Name each axis once.");
    all.push_back(axis);
  }
  return all;
}

inline void check_dropout(const char* op, double p) {
  require<ValueError>(0 <= p && p < 1, op, ": dropout must be in [0, 1), got ", p);
}

inline void check_float(const char* op, const Tensor& x) {
  check_defined(op, x);
  require<DtypeError>(is_float(x.dtype()), op, ": expected f32 or f64, got ", x.dtype(),
                      ". Convert with to(x, Dtype::f32).");
}

inline void check_bool(const char* op, const Tensor& x) {
  check_defined(op, x);
  require<DtypeError>(x.dtype() == Dtype::bool_, op, ": expected bool tensors, got ", x.dtype(),
                      " ", x.shape(), ". Compare first, for example not_equal(x, 0).");
}

inline void check_pair(const char* op, const Tensor& a, const Tensor& b) {
  check_defined(op, a, b);
  require<DtypeError>(a.dtype() == b.dtype(), op, ": the operands are ", a.dtype(), " ", a.shape(),
                      " and ", b.dtype(), " ", b.shape(), ". Convert one with to(x, dtype).");
}

inline void check_same_dtype(const char* op, const char* x_name, const Tensor& x,
                             const char* y_name, const Tensor& y) {
  require<DtypeError>(!y.defined() || y.dtype() == x.dtype(), op, ": ", x_name, " is ", x.dtype(),
                      " but ", y_name, " is ", y.dtype(), ". Convert one with to(x, dtype).");
}

/// Checks that weight and bias have x's dtype. The bias may be undefined; otherwise it must have
/// one value per output.
inline void check_weight_and_bias(const char* op, const Tensor& x, const Tensor& weight,
                                  const Tensor& bias) {
  require<ShapeError>(!bias.defined() || bias.shape() == Shape{weight.size(0)}, op,
                      ": the bias for the weight ", weight.shape(), " must be [", weight.size(0),
                      "], got ", bias.shape());
  check_same_dtype(op, "the input", x, "the weight", weight);
  check_same_dtype(op, "the input", x, "the bias", bias);
}

/// Checks that `p` (named `which` in errors) is undefined, or has x's dtype and the size of its
/// `axis`.
inline void check_parameter(const char* op, const Tensor& x, int axis, const char* which,
                            const Tensor& p) {
  if (!p.defined()) return;
  const std::int64_t size = x.size(axis);
  require<ShapeError>(p.shape() == Shape{size}, op, ": ", which, " must be [", size,
                      "], the size of the ", axis == -1 ? "last" : "channel", " axis of x ",
                      x.shape(), ", got ", p.shape());
  check_same_dtype(op, "x", x, which, p);
}

}  // namespace gradus
