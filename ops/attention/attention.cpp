// Attention: o = softmax(q kᵀ · scale + bias, masked) v.
//
//   backward, with weights p and upstream do:
//     dv = pᵀ do   dp = do vᵀ   ds = p (dp − Σ_s p dp)   dq = ds k · scale   dk = dsᵀ q · scale
//
// Saved: q, k, v, o and the log of each row's sum, from which kernel.cpp recomputes p.
#include "gradus/ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/attention/tiling.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/kernels/through_formula.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {

using kernel::AttentionProblem;
using kernel::HeadsView;

namespace {

/// Returns [B, H, T, D] as a kernel view. The matmul requires a stride of at least a row's length.
template <class T>
HeadsView<const T> view_of(const Tensor& x) {
  return {x.data<T>(), x.strides()[0], x.strides()[1], std::max(x.strides()[2], x.size(3)),
          x.size(3)};
}
template <class T>
HeadsView<T> writable_view_of(Tensor& x) {
  if (!x.defined()) return {};
  T* data = x.mutable_data<T>();
  return {data, x.strides()[0], x.strides()[1], x.strides()[2], x.size(3)};
}

/// Returns x if its columns are contiguous and its rows do not overlap, otherwise a copy.
Tensor with_packed_rows(const Tensor& x) {
  const bool rows_apart = x.size(2) <= 1 || x.strides()[2] >= x.size(3);
  return (x.size(3) <= 1 || x.strides()[3] == 1) && rows_apart ? x : kernel::contiguous(x);
}

/// Returns a new tensor of shape [B, H, T, D], stored in the order [B, T, H, D], so that
/// merge_heads need not copy it.
Tensor empty_heads(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t D, Dtype dtype) {
  const Tensor x = Tensor::empty({B, T, H, D}, dtype);
  return kernel::strided_view(x, {B, H, T, D}, {T * H * D, D, H * D, 1}, 0);
}

struct Heads {
  Tensor q, k, v;
};

Tensor packed_formula(const AttentionProblem& p, const Tensor& qkv, const Tensor& bias) {
  const std::vector<Tensor> x = chunk(qkv, 3, -1);
  return merge_heads(formula::composed(p, split_heads(x[0], p.H), split_heads(x[1], p.H),
                                       split_heads(x[2], p.H), bias)
                         .output);
}

}  // namespace

namespace op {

struct AttentionBase : Op {
  AttentionProblem p;
  Saved o;
  Tensor lse;  // [B, H, T], log of each row's sum

  explicit AttentionBase(AttentionProblem problem) : p(std::move(problem)) {}

 protected:
  Tensor attend(const Heads& x) {
    if (p.bias.defined() && p.bias.dtype() != x.q.dtype())  // if the op is rerun in another dtype
      p.bias = kernel::convert(p.bias, x.q.dtype());
    Tensor out = empty_heads(p.B, p.H, p.T, p.Dv, x.q.dtype());
    lse = Tensor::empty({p.B, p.H, p.T}, x.q.dtype());
    dispatch_float("attention", out.dtype(), [&]<class T>() {
      kernel::attention_forward<T>(p, {view_of<T>(x.q), view_of<T>(x.k), view_of<T>(x.v)},
                                   writable_view_of<T>(out), lse.mutable_data<T>());
    });
    return out;
  }

  void differentiate(const Heads& x, const Tensor& out, const Tensor& dout, Heads& d) const {
    dispatch_float("attention", dout.dtype(), [&]<class T>() {
      kernel::attention_backward<T>(
          p, {view_of<T>(x.q), view_of<T>(x.k), view_of<T>(x.v)},
          {view_of<T>(out), view_of<T>(dout), lse.data<T>(), writable_view_of<T>(d.q),
           writable_view_of<T>(d.k), writable_view_of<T>(d.v)});
    });
  }
};

struct Attention final : AttentionBase {
  Saved q, k, v;

  using AttentionBase::AttentionBase;
  const char* name() const override { return "attention"; }

  Tensor forward(const Tensor& queries, const Tensor& keys, const Tensor& values) {
    q = queries;
    k = keys;
    v = values;
    Tensor out =
        attend({with_packed_rows(queries), with_packed_rows(keys), with_packed_rows(values)});
    o = out;
    return out;
  }

  Gradients backward(const Tensor& dout, const NeedsGrad& needs_grad) override {
    if (GradMode::enabled())
      return through_formula(dout, needs_grad, {q.value(), k.value(), v.value()},
                             [this](const std::vector<Tensor>& in) {
                               return formula::composed(p, in[0], in[1], in[2], p.bias).output;
                             });
    const Heads x{with_packed_rows(q.value()), with_packed_rows(k.value()),
                  with_packed_rows(v.value())};
    Heads d;
    if (needs_grad(0)) d.q = empty_heads(p.B, p.H, p.T, p.D, dout.dtype());
    if (needs_grad(1)) d.k = empty_heads(p.B, p.Hk, p.S, p.D, dout.dtype());
    if (needs_grad(2)) d.v = empty_heads(p.B, p.Hk, p.S, p.Dv, dout.dtype());
    differentiate(x, o.value(), with_packed_rows(dout), d);
    return {d.q, d.k, d.v};
  }

  std::vector<std::pair<const char*, Tensor>> intermediates(const Tensor& dout) const override {
    return formula::intermediates(p, q.value(), k.value(), v.value(), dout);
  }
};

/// Reads q, k and v from packed projections [B, T, 3·H·D] and writes their gradients into one
/// tensor of that shape.
struct PackedAttention final : AttentionBase {
  Saved qkv;

  using AttentionBase::AttentionBase;
  const char* name() const override { return "packed_attention"; }

  Tensor forward(const Tensor& x) {
    qkv = x;
    const Tensor out = attend(parts(kernel::contiguous(x)));
    const std::int64_t C = p.H * p.D;
    Tensor merged = kernel::strided_view(out, {p.B, p.T, C}, {p.T * C, C, 1}, 0);
    o = merged;
    return merged;
  }

  Gradients backward(const Tensor& dout, const NeedsGrad& needs_grad) override {
    if (GradMode::enabled())
      return through_formula(
          dout, needs_grad, {qkv.value()},
          [this](const std::vector<Tensor>& in) { return packed_formula(p, in[0], p.bias); });
    const Tensor x = kernel::contiguous(qkv.value());
    const Tensor dx = Tensor::empty_like(x);
    Heads d = parts(dx);
    differentiate(parts(x), part(o.value(), 0, 1), part(kernel::contiguous(dout), 0, 1), d);
    return {dx};
  }

  std::vector<std::pair<const char*, Tensor>> intermediates(const Tensor& dout) const override {
    const Heads x = parts(kernel::contiguous(qkv.value()));
    return formula::intermediates(p, x.q, x.k, x.v,
                                  dout.defined() ? part(kernel::contiguous(dout), 0, 1) : dout);
  }

 private:
  /// Returns part `which` of `count` in [B, T, count·H·D], as [B, H, T, D].
  Tensor part(const Tensor& x, std::int64_t which, std::int64_t count) const {
    const std::int64_t C = p.H * p.D, row = count * C;
    return kernel::strided_view(x, {p.B, p.H, p.T, p.D}, {p.T * row, p.D, row, 1},
                                x.offset() + which * C);
  }
  Heads parts(const Tensor& x) const { return {part(x, 0, 3), part(x, 1, 3), part(x, 2, 3)}; }
};

}  // namespace op

namespace {

/// Describes a mismatch of shapes, or returns "".
std::string misfit(const Shape& q, const Shape& k, const Shape& v) {
  if (q[0] != k[0] || q[0] != v[0])
    return str_cat("batch sizes ", q[0], ", ", k[0], " and ", v[0], " differ");
  if (k[1] != v[1]) return str_cat("k has ", k[1], " heads but v has ", v[1]);
  if (k[2] != v[2]) return str_cat("k has ", k[2], " positions but v has ", v[2]);
  return q[3] == k[3] ? "" : str_cat("q has width ", q[3], " but k has ", k[3]);
}

/// Validates shapes and options, and draws the dropout stream.
AttentionProblem make_problem(const Shape& q, const Shape& k, const Shape& v, Dtype dtype,
                              const Mask& mask, const AttentionOptions& options) {
  AttentionProblem p{.B = q[0],
                     .H = q[1],
                     .Hk = k[1],
                     .T = q[2],
                     .S = k[2],
                     .D = q[3],
                     .Dv = v[3],
                     .scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q[3]))),
                     .mask = mask};
  const std::string wrong = misfit(q, k, v);
  require<ShapeError>(wrong.empty(), "attention: q ", q, ", k ", k, " and v ", v,
                      " do not fit: ", wrong,
                      ". Pass [B, H, T, D], [B, Hk, S, D] and [B, Hk, S, Dv].");
  require<ShapeError>(p.H == p.Hk || (p.Hk > 0 && p.H % p.Hk == 0), "attention: ", p.H,
                      " heads of q ", q, " cannot share the ", p.Hk, " heads of k ", k,
                      ". The number of query heads must be a multiple of the key heads.");
  check_dropout("attention", options.dropout);
  mask.check_sizes({p.B, p.H, p.T, p.S});
  if (options.bias.defined()) {
    const Tensor& bias = options.bias;
    const Shape scores{p.B, p.H, p.T, p.S};
    require<DtypeError>(bias.dtype() == dtype, "attention: the bias is ", bias.dtype(),
                        " but q is ", dtype, ". Convert one with to(x, dtype).");
    require<ShapeError>(broadcast_shapes("attention bias", bias.shape(), scores) == scores,
                        "attention: the bias ", bias.shape(), " does not broadcast to the scores, ",
                        scores, ". Pass [B, H, T, S] or sizes of 1.");
    p.bias = kernel::strided_view(
        bias, scores, broadcast_strides(bias.shape(), bias.strides(), scores), bias.offset());
  }
  p.narrow = kernel::sees_few_keys(p);
  if (options.training && options.dropout > 0) p.dropout = make_dropout_mask(options.dropout);
  return p;
}

AttentionProblem make_problem(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                              const AttentionOptions& options) {
  for (const Tensor* x : {&q, &k, &v}) {
    check_defined("attention", *x);
    require<ShapeError>(x->rank() == 4,
                        "attention: q, k and v must be [batch, heads, length, width], got ",
                        x->shape(), ". Split the heads first.");
    check_same_dtype("attention", "q", q, "k or v", *x);
  }
  return make_problem(q.shape(), k.shape(), v.shape(), q.dtype(), mask, options);
}

/// True if the fused kernel cannot run, for example if the bias requires a gradient.
bool runs_as_formula(const AttentionOptions& options) {
  return formula_wanted() || (options.bias.requires_grad() && GradMode::enabled());
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Mask& mask, const AttentionOptions& options) {
  AttentionProblem p = make_problem(q, k, v, mask, options);
  if (runs_as_formula(options)) return formula::composed(p, q, k, v, options.bias).output;
  return apply(op::Attention(std::move(p)), q, k, v);
}

AttentionOutput attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const Mask& mask, const AttentionOptions& options) {
  return formula::composed(make_problem(q, k, v, mask, options), q, k, v, options.bias);
}

Tensor split_heads(const Tensor& x, std::int64_t heads) {
  require<ShapeError>(x.rank() == 3 && heads > 0 && x.size(2) % heads == 0,
                      "split_heads: x must be [batch, length, width], with heads that divide the ",
                      "width, got ", x.shape(), " and ", heads, " heads");
  const Tensor apart =
      reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads});  // [B, T, H, D]
  return transpose(apart, 1, 2);                                     // [B, H, T, D]
}

Tensor merge_heads(const Tensor& x) {
  require<ShapeError>(x.rank() == 4, "merge_heads: x must be [batch, heads, length, width], got ",
                      x.shape());
  const Tensor side_by_side = transpose(x, 1, 2);                               // [B, T, H, D]
  return reshape(side_by_side, {x.size(0), x.size(2), x.size(1) * x.size(3)});  // [B, T, C]
}

Tensor packed_self_attention(const Tensor& qkv, std::int64_t heads, const Mask& mask,
                             const AttentionOptions& options) {
  check_defined("attention", qkv);
  require<ShapeError>(qkv.rank() == 3 && heads > 0 && qkv.size(2) % (3 * heads) == 0,
                      "attention: packed projections must be [batch, length, 3 · heads · width], ",
                      "got ", qkv.shape(), " with ", heads, " heads");
  const Shape shape{qkv.size(0), heads, qkv.size(1), qkv.size(2) / (3 * heads)};
  AttentionProblem p = make_problem(shape, shape, shape, qkv.dtype(), mask, options);
  if (runs_as_formula(options)) return packed_formula(p, qkv, options.bias);
  return apply(op::PackedAttention(std::move(p)), qkv);
}

}  // namespace gradus
