// Attention: o = softmax(q kᵀ · scale + bias, masked) v.
//
//   backward, with weights p and upstream do:
//     dv = pᵀ do   dp = do vᵀ   ds = p (dp − Σ_s p dp)   dq = ds k · scale   dk = dsᵀ q · scale
//
// Remembered: q, k, v, o and the logarithm of each row's sum, from which the kernel computes p
// again. formula.h has both directions composed of public operations.

#include "gradus/ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/attention/formula.h"
#include "gradus/ops/attention/scores.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {

using formula::composed;
using formula::Derivatives;
using formula::formula_backward;
using kernel::AttentionPlan;
using kernel::Heads;

namespace {

/// [B, H, T, D] as its heads; columns must lie side by side.
template <class T>
Heads<const T> heads_of(const Tensor& x) {
  // A single row may have any stride, 0 too; BLAS wants a distance that is as long as a row.
  const std::int64_t row = std::max(x.strides()[2], x.size(3));
  return {x.data<T>(), x.strides()[0], x.strides()[1], row};
}
template <class T>
Heads<T> writable_heads_of(Tensor& x) {
  if (!x.defined()) return {};
  T* data = x.mutable_data<T>();
  return {data, x.strides()[0], x.strides()[1], x.strides()[2]};
}

/// A view whose columns lie side by side, else a copy. BLAS wants rows that do not overlap.
Tensor with_packed_rows(const Tensor& x) {
  const bool rows_apart = x.size(2) <= 1 || x.strides()[2] >= x.size(3);
  return (x.size(3) <= 1 || x.strides()[3] == 1) && rows_apart ? x : kernel::contiguous(x);
}

/// A fresh [B, H, T, D] that lies as [B, T, H, D], so that merging the heads again copies nothing.
Tensor empty_heads(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t D, Dtype dtype) {
  const Tensor x = Tensor::empty({B, T, H, D}, dtype);
  return kernel::strided_view(x, {B, H, T, D}, {T * H * D, D, H * D, 1}, 0);
}

/// Is anything hidden? Of few queries (decoding) the mask is asked for all of them at once, which
/// costs less than to look whether every value is finite.
bool hides(const AttentionPlan& plan) {
  if (plan.mask.allows_everything() || plan.T > kernel::kFewQueries)
    return !plan.mask.allows_everything();
  for (std::int64_t head = 0; head < plan.B * plan.H; ++head)
    if (plan.mask.coverage({head / plan.H, head % plan.H, 0, plan.T, 0, plan.S}) != Coverage::all)
      return true;
  return false;
}

}  // namespace

namespace op {

struct Attention final : Op {
  AttentionPlan plan;
  Saved q, k, v, o;
  Tensor lse;  // [B, H, T], log of each row's sum

  explicit Attention(AttentionPlan p) : plan(std::move(p)) {}
  const char* name() const override { return "attention"; }

  Tensor forward(const Tensor& queries, const Tensor& keys, const Tensor& values) {
    q = queries, k = keys, v = values;
    Tensor out = empty_heads(plan.B, plan.H, plan.T, plan.Dv, queries.dtype());
    lse = Tensor::empty({plan.B, plan.H, plan.T}, queries.dtype());
    const Tensor x = with_packed_rows(queries), y = with_packed_rows(keys),
                 z = with_packed_rows(values);
    dispatch_float("attention", out.dtype(), [&]<class T>() {
      kernel::attention_forward<T>(plan, heads_of<T>(x), heads_of<T>(y), heads_of<T>(z),
                                   writable_heads_of<T>(out), lse.mutable_data<T>());
    });
    o = out;
    return out;
  }

  Gradients backward(const Tensor& dout, const Wanted& wants) override {
    if (GradMode::enabled()) {
      const Derivatives d = formula_backward(plan, q.value(), k.value(), v.value(), dout);
      return {d.dq, d.dk, d.dv};
    }
    const auto empty = [&](int input, std::int64_t H, std::int64_t rows, std::int64_t width) {
      return wants(input) ? empty_heads(plan.B, H, rows, width, dout.dtype()) : Tensor();
    };
    Tensor dq = empty(0, plan.H, plan.T, plan.D), dk = empty(1, plan.Hk, plan.S, plan.D),
           dv = empty(2, plan.Hk, plan.S, plan.Dv);
    const Tensor x = with_packed_rows(q.value()), y = with_packed_rows(k.value()),
                 z = with_packed_rows(v.value());
    const Tensor out = o.value(), g = with_packed_rows(dout);
    dispatch_float("attention", dout.dtype(), [&]<class T>() {
      kernel::attention_backward<T>(
          plan, {heads_of<T>(x), heads_of<T>(y), heads_of<T>(z), heads_of<T>(out), heads_of<T>(g),
                 lse.data<T>(), writable_heads_of<T>(dq), writable_heads_of<T>(dk),
                 writable_heads_of<T>(dv)});
    });
    return {dq, dk, dv};
  }
};

/// The same on packed projections [B, T, 3·H·D]: q, k, v are read, gradients written, in place.
struct PackedAttention final : Op {
  AttentionPlan plan;
  Saved qkv, o;
  Tensor lse;

  explicit PackedAttention(AttentionPlan p) : plan(std::move(p)) {}
  const char* name() const override { return "packed_attention"; }

  /// part 0, 1, 2: q, k, v as [B, H, T, D].
  Tensor part(const Tensor& packed, std::int64_t which) const {
    const std::int64_t C = plan.H * plan.D;
    return kernel::strided_view(packed, {plan.B, plan.H, plan.T, plan.D},
                                {plan.T * 3 * C, plan.D, 3 * C, 1}, packed.offset() + which * C);
  }

  Tensor forward(const Tensor& packed) {
    qkv = packed;
    const Tensor x = kernel::contiguous(packed);
    Tensor out = empty_heads(plan.B, plan.H, plan.T, plan.D, packed.dtype());
    lse = Tensor::empty({plan.B, plan.H, plan.T}, packed.dtype());
    dispatch_float("attention", out.dtype(), [&]<class T>() {
      kernel::attention_forward<T>(plan, heads_of<T>(part(x, 0)), heads_of<T>(part(x, 1)),
                                   heads_of<T>(part(x, 2)), writable_heads_of<T>(out),
                                   lse.mutable_data<T>());
    });
    const Tensor merged = kernel::strided_view(out, {plan.B, plan.T, plan.H * plan.D},
                                               {plan.T * plan.H * plan.D, plan.H * plan.D, 1}, 0);
    o = merged;
    return merged;
  }

  /// [B, T, H·D] as [B, H, T, D].
  Tensor split(const Tensor& merged) const {
    const std::int64_t C = plan.H * plan.D;
    return kernel::strided_view(merged, {plan.B, plan.H, plan.T, plan.D},
                                {plan.T * C, plan.D, C, 1}, merged.offset());
  }

  Gradients backward(const Tensor& dout, const Wanted&) override {
    if (GradMode::enabled()) {
      const Shape heads{plan.B, plan.T, plan.H, plan.D};
      const std::vector<Tensor> x = chunk(qkv.value(), 3, -1);
      const auto split_heads = [&](const Tensor& t) { return transpose(reshape(t, heads), 1, 2); };
      const Derivatives d = formula_backward(plan, split_heads(x[0]), split_heads(x[1]),
                                             split_heads(x[2]), split_heads(dout));
      const Shape merged{plan.B, plan.T, plan.H * plan.D};
      const auto merge = [&](const Tensor& t) { return reshape(transpose(t, 1, 2), merged); };
      return {cat({merge(d.dq), merge(d.dk), merge(d.dv)}, -1)};
    }
    const Tensor x = kernel::contiguous(qkv.value()), out = o.value(), g = kernel::contiguous(dout);
    Tensor dx = Tensor::empty_like(x);
    dispatch_float("attention", dout.dtype(), [&]<class T>() {
      Tensor dq = part(dx, 0), dk = part(dx, 1), dv = part(dx, 2);
      const kernel::BackwardHeads<T> heads{
          heads_of<T>(part(x, 0)),  heads_of<T>(part(x, 1)),  heads_of<T>(part(x, 2)),
          heads_of<T>(split(out)),  heads_of<T>(split(g)),    lse.data<T>(),
          writable_heads_of<T>(dq), writable_heads_of<T>(dk), writable_heads_of<T>(dv)};
      kernel::attention_backward<T>(plan, heads);
    });
    return {dx};
  }
};

}  // namespace op

namespace {

AttentionPlan make_plan(const Shape& q, const Shape& k, const Shape& v, const Mask& mask,
                        const AttentionOptions& options) {
  AttentionPlan plan{
      q[0], q[1], k[1], q[2],
      k[2], q[3], v[3], options.scale.value_or(1 / std::sqrt(static_cast<double>(q[3]))),
      mask, {},   {}};
  require<ShapeError>(
      k == Shape{plan.B, plan.Hk, plan.S, plan.D} && v == Shape{plan.B, plan.Hk, plan.S, plan.Dv},
      "attention: q ", q, ", k ", k, " and v ", v, " do not fit: they must be [B, H, T, D], ",
      "[B, Hk, S, D] and [B, Hk, S, Dv] with the same batch B, k and v with the same heads Hk, ",
      "q and k equally wide");
  require<ShapeError>(plan.H == plan.Hk || (plan.Hk > 0 && plan.H % plan.Hk == 0),
                      "attention: ", plan.H, " heads of q ", q, " cannot share the ", plan.Hk,
                      " heads of k ", k,
                      ": their number must be a multiple, each key head serves as many queries'");
  require(0 <= options.dropout && options.dropout < 1, "attention: dropout ", options.dropout,
          " is not in [0, 1)");
  mask.check_sizes({plan.B, plan.H, plan.T, plan.S});
  plan.hides = hides(plan), plan.sees_few = kernel::few_visible(plan);
  return plan;
}

AttentionPlan make_plan(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                        const AttentionOptions& options) {
  for (const Tensor* x : {&q, &k, &v}) {
    require<ValueError>(x->defined(), "attention: q, k or v is undefined");
    require<ShapeError>(x->rank() == 4,
                        "attention: q, k and v must be [batch, heads, length, width], not ",
                        x->shape(), ": split the heads first");
    require<DtypeError>(x->dtype() == q.dtype(), "attention: q is ", q.dtype(), " but k or v is ",
                        x->dtype());
  }
  AttentionPlan plan = make_plan(q.shape(), k.shape(), v.shape(), mask, options);
  if (options.bias.defined()) {
    const Shape scores{plan.B, plan.H, plan.T, plan.S};
    require<DtypeError>(options.bias.dtype() == q.dtype(), "attention: the bias is ",
                        options.bias.dtype(), " but q is ", q.dtype());
    require<ShapeError>(broadcast_shapes("attention bias", options.bias.shape(), scores) == scores,
                        "attention: the bias ", options.bias.shape(),
                        " does not broadcast to [B, H, T, S] = ", scores);
    plan.bias = kernel::strided_view(
        options.bias, scores,
        broadcast_strides(options.bias.shape(), options.bias.strides(), scores),
        options.bias.offset());
  }
  return plan;
}

void draw_dropout(AttentionPlan& plan, const AttentionOptions& options) {
  if (options.training && options.dropout > 0) plan.dropout = make_dropout_mask(options.dropout);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Mask& mask, const AttentionOptions& options) {
  AttentionPlan plan = make_plan(q, k, v, mask, options);
  draw_dropout(plan, options);
  const bool bias_learns =
      options.bias.defined() && options.bias.requires_grad() && GradMode::enabled();
  if (formula_wanted() || bias_learns) return composed(plan, q, k, v, options.bias).output;
  return apply(op::Attention(std::move(plan)), q, k, v);
}

Attended attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                                const AttentionOptions& options) {
  AttentionPlan plan = make_plan(q, k, v, mask, options);
  draw_dropout(plan, options);
  return composed(plan, q, k, v, options.bias);
}

Tensor packed_self_attention(const Tensor& qkv, std::int64_t heads, const Mask& mask,
                             const AttentionOptions& options) {
  require<ValueError>(qkv.defined(), "attention: the packed projections are undefined");
  require<ShapeError>(qkv.rank() == 3 && heads > 0 && qkv.size(2) % (3 * heads) == 0,
                      "attention: packed projections must be [batch, length, 3 · heads · width]; ",
                      qkv.shape(), " with ", heads, " heads is not");
  const std::int64_t B = qkv.size(0), T = qkv.size(1), D = qkv.size(2) / (3 * heads);
  if (formula_wanted() || options.bias.defined()) {
    const std::vector<Tensor> parts = chunk(qkv, 3, -1);
    const auto split_heads = [&](const Tensor& t) {
      return transpose(reshape(t, {B, T, heads, D}), 1, 2);
    };
    const Tensor y = scaled_dot_product_attention(split_heads(parts[0]), split_heads(parts[1]),
                                                  split_heads(parts[2]), mask, options);
    return reshape(transpose(y, 1, 2), {B, T, heads * D});
  }
  const Shape shape{B, heads, T, D};
  AttentionPlan plan = make_plan(shape, shape, shape, mask, options);
  draw_dropout(plan, options);
  return apply(op::PackedAttention(std::move(plan)), qkv);
}

}  // namespace gradus
