// conv1d: y[b, o, t] = bias[o] + Σ_ck weight[o, c, k] x[b, c, t·stride + k·dilation].
//
//   unfold   u[b, t, c, k] = x[b, c, t·stride + k·dilation]      dx = fold(du)
//   fold     y[b, c, l] = Σ u[b, t, c, k] over the (t, k) with t·stride + k·dilation = l
//                                                                du = unfold(dy)
//
// A convolution is a matmul of windows u and weight. For a depthwise convolution, that matmul would
// have width 1, so a kernel processes the rows of x, tap by tap:
//
//   y[b, c, t] = Σ_k w[c, k] x[b, c, t·stride + k·dilation]
//   dx = fold(dy w)      dw[c, k] = Σ_bt dy[b, c, t] x[b, c, t·stride + k·dilation]
#include "gradus/ops/conv.h"

#include "gradus/engine/apply.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/simd.h"
#include "gradus/engine/base/vmath.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

struct Windows {
  std::int64_t length, count, taps, stride, dilation;  // L, Lout, K
};

template <class T>
GRADUS_INLINE void add_tap(T w, const T* from, std::int64_t from_step, T* to, std::int64_t to_step,
                           std::int64_t n) {
  if (from_step == 1 && to_step == 1)  // fast path: vectorizes
    for (std::int64_t t = 0; t < n; ++t) to[t] += w * from[t];
  else
    for (std::int64_t t = 0; t < n; ++t) to[t * to_step] += w * from[t * from_step];
}
template <class T>
GRADUS_INLINE T tap_dot(const T* dy, const T* x, std::int64_t stride, std::int64_t n) {
  return vmath::sum_of<T>(n, [=](std::int64_t t) { return dy[t] * x[t * stride]; });
}

}  // namespace

namespace op {

struct Unfold final : Op {  // x [B, C, L] → [B, Lout, C, K]
  Windows w;
  explicit Unfold(const Windows& windows) : w(windows) {}
  const char* name() const override { return "unfold"; }
  Tensor forward(const Tensor& x) {
    const std::int64_t B = x.size(0), C = x.size(1);
    const Tensor packed = kernel::contiguous(x);
    Tensor u = Tensor::empty({B, w.count, C, w.taps}, x.dtype());
    dispatch_float("conv1d", x.dtype(), [&]<class T>() {
      const T* in = packed.data<T>();
      T* out = u.mutable_data<T>();
      parallel_for(B * w.count, rows_grain(C * w.taps), [&](auto begin, auto end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T* from = in + i / w.count * C * w.length + i % w.count * w.stride;
          T* to = out + i * C * w.taps;
          for (std::int64_t c = 0; c < C; ++c)
            for (std::int64_t k = 0; k < w.taps; ++k) *to++ = from[c * w.length + k * w.dilation];
        }
      });
    });
    return u;
  }
  Gradients backward(const Tensor& du, const NeedsGrad&) override;
};

struct Fold final : Op {  // u [B, Lout, C, K] → [B, C, L]
  Windows w;
  explicit Fold(const Windows& windows) : w(windows) {}
  const char* name() const override { return "fold"; }
  Tensor forward(const Tensor& u) {
    const std::int64_t B = u.size(0), C = u.size(2);
    const Tensor packed = kernel::contiguous(u);
    Tensor y = Tensor::empty({B, C, w.length}, u.dtype()).fill_(0);
    dispatch_float("conv1d", u.dtype(), [&]<class T>() {
      const T* in = packed.data<T>();
      T* out = y.mutable_data<T>();
      parallel_for(B * C, rows_grain(w.count * w.taps), [&](auto begin, auto end) {
        for (std::int64_t i = begin; i < end; ++i)
          for (std::int64_t t = 0; t < w.count; ++t) {
            const T* from = in + ((i / C * w.count + t) * C + i % C) * w.taps;
            T* to = out + i * w.length + t * w.stride;
            for (std::int64_t k = 0; k < w.taps; ++k) to[k * w.dilation] += from[k];
          }
      });
    });
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {apply(Unfold(w), dy)}; }
};

Gradients Unfold::backward(const Tensor& du, const NeedsGrad&) { return {apply(Fold(w), du)}; }

struct Depthwise final : Op {  // x [B, C, L], weight [C, K] → [B, C, Lout]
  Windows w;
  Saved x, weight;
  explicit Depthwise(const Windows& windows) : w(windows) {}
  const char* name() const override { return "depthwise_conv1d"; }

  Tensor forward(const Tensor& input, const Tensor& taps) {
    x = input;
    weight = taps;
    return add_taps(kernel::contiguous(input), kernel::contiguous(taps), true);
  }

  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    Tensor dx, dw;
    if (GradMode::enabled()) {
      const Tensor du = unsqueeze(transpose(dy, 1, 2), 3);  // [B, Lout, C, 1]
      if (needs_grad(0)) dx = apply(Fold(w), du * weight.value());
      if (needs_grad(1)) dw = sum(du * apply(Unfold(w), x.value()), {0, 1});
      return {dx, dw};
    }
    const Tensor g = kernel::contiguous(dy);
    if (needs_grad(0)) dx = add_taps(g, kernel::contiguous(weight.value()), false);
    if (needs_grad(1)) dw = dw_backward(g, kernel::contiguous(x.value()));
    return {dx, dw};
  }

  /// Computes y from x in forward, or dx from dy in backward.
  Tensor add_taps(const Tensor& from, const Tensor& factors, bool forward) const {
    const std::int64_t C = factors.size(0), rows = from.size(0) * C;
    Tensor to = Tensor::empty({from.size(0), C, forward ? w.count : w.length}, from.dtype());
    to.fill_(0);
    dispatch_float("conv1d", to.dtype(), [&]<class T>() {
      const T *in = from.data<T>(), *f = factors.data<T>();
      T* out = to.mutable_data<T>();
      parallel_for(rows, rows_grain(w.count * w.taps), [&](auto begin, auto end) {
        for (std::int64_t i = begin; i < end; ++i)
          for (std::int64_t k = 0; k < w.taps; ++k) {
            const std::int64_t at_x = i * w.length + k * w.dilation, at_y = i * w.count;
            simd::run<add_tap<T>>(f[i % C * w.taps + k], in + (forward ? at_x : at_y),
                                  forward ? w.stride : 1, out + (forward ? at_y : at_x),
                                  forward ? 1 : w.stride, w.count);
          }
      });
    });
    return to;
  }

  Tensor dw_backward(const Tensor& dy, const Tensor& input) const {
    const std::int64_t B = dy.size(0), C = dy.size(1);
    Tensor dw = Tensor::empty({C, w.taps}, dy.dtype());
    dispatch_float("conv1d", dw.dtype(), [&]<class T>() {
      const T *g = dy.data<T>(), *from = input.data<T>();
      T* to = dw.mutable_data<T>();
      parallel_for(C * w.taps, rows_grain(B * w.count), [&](auto begin, auto end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t c = i / w.taps, k = i % w.taps;
          T total = 0;
          for (std::int64_t row = c; row < B * C; row += C)
            total += simd::run<tap_dot<T>>(
                g + row * w.count, from + row * w.length + k * w.dilation, w.stride, w.count);
          to[i] = total;
        }
      });
    });
    return dw;
  }
};

}  // namespace op

namespace {

void check_conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Conv1dOptions& o) {
  check_defined("conv1d", x, weight);
  require<ShapeError>(x.rank() == 3 && weight.rank() == 3, "conv1d: the input ", x.shape(),
                      " must be [batch, channels, length] and the weight ", weight.shape(),
                      " must be [out, in / groups, taps]");
  require(o.stride > 0 && o.dilation > 0 && o.groups > 0 && o.padding >= 0, "conv1d: stride ",
          o.stride, ", dilation ", o.dilation, ", groups ", o.groups, " and padding ", o.padding,
          " are out of range. The first three must be positive, padding not negative.");
  const std::int64_t Cin = x.size(1), Cout = weight.size(0), K = weight.size(2);
  require<ShapeError>(
      Cin % o.groups == 0 && Cout % o.groups == 0 && weight.size(1) == Cin / o.groups,
      "conv1d: the weight ", weight.shape(), " does not fit ", Cin, " channels in ", o.groups,
      " groups. It must be [out, ", Cin, " / groups, taps], and groups must divide both channels.");
  const std::int64_t reach = o.dilation * (K - 1) + 1;
  require<ShapeError>(K > 0 && x.size(2) + 2 * o.padding >= reach, "conv1d: a length of ",
                      x.size(2), " with padding ", o.padding, " at both ends is shorter than ",
                      "the ", reach, " positions that ", K, " taps cover. Use more padding or ",
                      "fewer taps.");
  check_weight_and_bias("conv1d", x, weight, bias);
}

/// Multiplies windows [B, Lout, Cin, K] by the weights of each group: [B, Lout, Cout]
Tensor grouped_product(const Tensor& windows, const Tensor& weight, std::int64_t groups) {
  const std::int64_t rows = windows.size(0) * windows.size(1), Cout = weight.size(0),
                     n = weight.size(1) * weight.size(2);
  const Tensor x = transpose(reshape(windows, {rows, groups, n}), 0, 1);    // [groups, rows, n]
  const Tensor w = transpose(reshape(weight, {groups, Cout / groups, n}));  // [groups, n, out]
  const Tensor y = transpose(matmul(x, w), 0, 1);                           // [rows, groups, out]
  return reshape(y, {windows.size(0), windows.size(1), Cout});
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& o) {
  check_conv1d(x, weight, bias, o);
  const std::int64_t B = x.size(0), Cin = x.size(1), Cout = weight.size(0), K = weight.size(2);
  const Tensor padded = o.padding > 0 ? pad(x, 2, o.padding, o.padding) : x;
  const std::int64_t L = padded.size(2), count = (L - o.dilation * (K - 1) - 1) / o.stride + 1;
  const Windows windows{L, count, K, o.stride, o.dilation};
  // Fast path with the same result.
  if (o.groups == Cin && o.groups == Cout && !formula_wanted()) {
    const Tensor y = apply(op::Depthwise(windows), padded, reshape(weight, {Cout, K}));
    return bias.defined() ? y + unsqueeze(bias, 1) : y;
  }
  const Tensor u = apply(op::Unfold(windows), padded);  // [B, Lout, Cin, K]
  if (o.groups == 1)
    return transpose(
        linear(reshape(u, {B, count, Cin * K}), reshape(weight, {Cout, Cin * K}), bias), 1, 2);
  const Tensor y = grouped_product(u, weight, o.groups);
  return transpose(bias.defined() ? y + bias : y, 1, 2);
}

}  // namespace gradus
