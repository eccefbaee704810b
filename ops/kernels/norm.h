// What the norms share: their definition, and where a kernel finds what it reads and writes.
#pragma once

#include "gradus/engine/op.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {

/// The norms in operations that can be differentiated again.
struct Formula {
  bool centred;  // is the mean subtracted?
  double eps;
  Axes axes;        // over which the means run
  Shape parameter;  // of weight and bias, so that they broadcast against x

  struct Normalised {
    Tensor rstd, xhat;
  };
  Normalised normalised(const Tensor& x) const {
    const Tensor from_mean = centred ? x - mean(x, axes, true) : x;
    const Tensor rstd = rsqrt(mean(square(from_mean), axes, true) + eps);
    return {rstd, from_mean * rstd};
  }

  /// x̂ · weight + bias, each of which may be undefined.
  Tensor affine(const Tensor& xhat, const Tensor& weight, const Tensor& bias) const {
    Tensor y = xhat;
    if (weight.defined()) y = y * reshape(weight, parameter);
    if (bias.defined()) y = y + reshape(bias, parameter);
    return y;
  }

  Gradients backward(const Tensor& x, const Saved& weight, const Saved& bias, const Tensor& dy,
                     const Wanted& wants) const {
    const auto [rstd, xhat] = normalised(x);
    Gradients d(3);
    if (wants(0)) {
      const Tensor g = weight.defined() ? dy * reshape(weight.value(), parameter) : dy;
      const Tensor centre = centred ? g - mean(g, axes, true) : g;
      d[0] = rstd * (centre - xhat * mean(g * xhat, axes, true));
    }
    if (weight.defined() && wants(1)) d[1] = reshape(sum_to(dy * xhat, parameter), weight.shape());
    if (bias.defined() && wants(2)) d[2] = reshape(sum_to(dy, parameter), bias.shape());
    return d;
  }
};

/// What a norm reads and writes; undefined where there is none, or it is not wanted.
struct NormTensors {
  Tensor x = {}, w = {}, b = {}, dy = {}, statistics = {}, y = {}, dx = {}, dw = {}, db = {};
};

/// p moved on by n, unless it is null.
template <class T>
void advance(T*& p, std::int64_t n) {
  if (p) p += n;
}

/// Where those lie, for the kernels; null where undefined.
template <class T>
struct NormRows {
  const T *x, *w, *b, *dy;
  T *statistics, *y, *dx, *dw, *db;

  explicit NormRows(NormTensors& t)
      : x(read(t.x)),
        w(read(t.w)),
        b(read(t.b)),
        dy(read(t.dy)),
        statistics(write(t.statistics)),
        y(write(t.y)),
        dx(write(t.dx)),
        dw(write(t.dw)),
        db(write(t.db)) {}

  static const T* read(const Tensor& x) { return x.defined() ? x.data<T>() : nullptr; }
  static T* write(Tensor& x) { return x.defined() ? x.mutable_data<T>() : nullptr; }

  void skip_rows(std::int64_t rows, std::int64_t n) {
    x += rows * n;
    statistics += 2 * rows;
    advance(dy, rows * n);
    advance(y, rows * n);
    advance(dx, rows * n);
  }
};

}  // namespace gradus
