// linear: y = x Wᵀ + b, most of a Transformer's arithmetic.
//
//   forward     y = x Wᵀ + b                    x [N, in], W [out, in], y [N, out]
//   backward    dx = dy W      dW = dyᵀ x      db = Σ_n dy_n
//
// Saves W, and x unless its producer (a norm, an activation) can recompute it. The matmul adds the
// bias while writing y, to save a pass over memory.

#include "gradus/ops/linear.h"

#include "gradus/engine/apply.h"
#include "gradus/engine/gemm/multiply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/kernels/through_formula.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {

using gemm::Matrix;
using gemm::multiply;

namespace {

std::int64_t count_rows(const Tensor& x) {
  std::int64_t rows = 1;
  for (int axis = 0; axis < x.rank() - 1; ++axis) rows *= x.shape()[axis];
  return rows;
}

Tensor as_rows(const Tensor& x) { return kernel::reshaped(x, {count_rows(x), x.size(-1)}); }

Tensor linear_formula(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor y = matmul(x, transpose(weight));
  return bias.defined() ? y + bias : y;
}

/// Returns a b or aᵀ b of contiguous matrices, viewed as `shape`.
Tensor product(bool transpose_a, const Tensor& a, const Tensor& b, const Shape& shape) {
  Tensor c = Tensor::empty(shape, a.dtype());
  dispatch_float("linear", a.dtype(), [&]<class T>() {
    const Matrix<const T> left(a.data<T>(), a.size(0), a.size(1));
    const Matrix<const T> right(b.data<T>(), b.size(0), b.size(1));
    const Matrix<T> result(c.mutable_data<T>(), a.size(transpose_a ? 1 : 0), b.size(1));
    multiply(result, transpose_a ? left.transpose() : left, right);
  });
  return c;
}

}  // namespace

namespace op {

struct Linear final : Op {
  Saved x, weight;
  const char* name() const override { return "linear"; }

  Tensor forward(const Tensor& input, const Tensor& w, const Tensor& bias) {
    x = input;
    weight = w;
    const std::int64_t rows = count_rows(input), out = w.size(0), in = w.size(1);
    Shape shape = input.shape();
    shape[input.rank() - 1] = out;
    Tensor y = Tensor::empty(shape, input.dtype());
    const Tensor from = kernel::contiguous(input), packed = kernel::contiguous(w);
    const Tensor b = kernel::contiguous(bias);
    dispatch_float("linear", y.dtype(), [&]<class T>() {
      const Matrix<const T> matrix(packed.data<T>(), out, in);
      gemm::Options<T> options;
      if (b.defined()) options.bias = b.data<T>();
      multiply(Matrix<T>(y.mutable_data<T>(), rows, out), {from.data<T>(), rows, in},
               matrix.transpose(), options);
    });
    return y;
  }

  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    const std::int64_t out = weight.shape()[0], in = weight.shape()[1];
    Tensor dx, dw;  // the bias receives dy, which the engine sums over rows
    if (GradMode::enabled()) {
      Gradients d = through_formula(
          dy, needs_grad, {x.value(), weight.value(), Tensor()},
          [](const std::vector<Tensor>& in) { return linear_formula(in[0], in[1], {}); });
      d[2] = dy;
      return d;
    }
    const Tensor g = as_rows(dy);
    if (needs_grad(1)) dw = product(true, g, as_rows(x.value()), {out, in});
    if (needs_grad(0)) dx = product(false, g, kernel::contiguous(weight.value()), x.shape());
    return {dx, dw, g};
  }
};

}  // namespace op

namespace {

/// Suggests a fix for a mismatched input.
const char* advice(const Tensor& x, std::int64_t in) {
  if (x.rank() == 2 && x.size(0) == in) return "Did you mean transpose(x)?";
  return "Change the layer's input size.";
}

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_defined("linear", x, weight);
  require<ShapeError>(weight.rank() == 2, "linear: the weight must be [out, in], got ",
                      weight.shape());
  const std::int64_t in = weight.size(1);
  require<ShapeError>(x.rank() >= 1 && x.size(-1) == in, "linear: the input ", x.shape(),
                      " must end in the weight's input size, ", in, " (weight ", weight.shape(),
                      " is [out, in]). ", advice(x, in));
  check_weight_and_bias("linear", x, weight, bias);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_linear(x, weight, bias);
  if (formula_wanted()) return linear_formula(x, weight, bias);
  return apply(op::Linear{}, x, weight, bias);
}

}  // namespace gradus
