// Attention as formulas, with weights p and upstream do:
//
//   p = softmax(q kᵀ · scale + bias, masked)      o = p v
//   dv = pᵀ do   dp = do vᵀ   ds = p (dp − Σ_s p dp)   dq = ds k · scale   dk = dsᵀ q · scale
//
// Dropout multiplies p in o and dv, and dp. What the mask hides is never multiplied, so a NaN there
// does not leak.
#include "gradus/ops/attention/formula.h"

#include <cmath>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention/masked_product.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"

namespace gradus::formula {

using kernel::AttentionPlan;

namespace {

/// Where the mask hides, as a tensor; undefined where it hides nothing.
Tensor hidden(const AttentionPlan& plan) {
  if (plan.mask.allows_everything()) return {};
  return logical_not(plan.mask.dense({plan.B, plan.H, plan.T, plan.S}));
}

/// A key head for each query head: [B, Hk, S, D] → [B, H, S, D]
Tensor spread(const AttentionPlan& plan, const Tensor& x) {
  const std::int64_t S = x.size(2), D = x.size(3);
  const Tensor one = reshape(x, {plan.B, plan.Hk, 1, S, D});
  return reshape(expand(one, {plan.B, plan.Hk, plan.group(), S, D}), {plan.B, plan.H, S, D});
}

/// Its reverse: the sum over the query heads that a key head serves, [B, H, S, D] → [B, Hk, S, D]
Tensor gather(const AttentionPlan& plan, const Tensor& x) {
  return sum(reshape(x, {plan.B, plan.Hk, plan.group(), x.size(2), x.size(3)}), {2});
}

/// The factors that dropout puts on the weights, from the same random numbers as in the kernel.
Tensor dropout_factors(const AttentionPlan& plan, Dtype dtype) {
  Tensor z = Tensor::empty({plan.B, plan.H, plan.T, plan.S}, dtype);
  dispatch_float("attention", dtype, [&]<class T>() {
    T* out = z.mutable_data<T>();
    for (std::int64_t i = 0; i < z.numel(); ++i)
      out[i] = plan.dropout.keeps(i) ? static_cast<T>(plan.dropout.scale) : T{0};
  });
  return z;
}

/// softmax(q kᵀ · scale + bias), 0 where the mask hides: [B, H, T, S]
Tensor attention_weights(const AttentionPlan& plan, const Tensor& q, const Tensor& k,
                         const Tensor& bias, const Tensor& hides) {
  Tensor scores = pair_products(q, k, hides) * plan.scale;
  if (bias.defined()) scores = scores + bias;
  if (hides.defined()) scores = masked_fill(scores, hides, -INFINITY);
  return softmax(scores);
}

}  // namespace

Attended composed(const AttentionPlan& plan, const Tensor& q, const Tensor& keys,
                  const Tensor& values, const Tensor& bias) {
  const Tensor hides = hidden(plan), k = spread(plan, keys), v = spread(plan, values);
  const Tensor weights = attention_weights(plan, q, k, bias, hides);
  const Tensor dropped =
      plan.dropout.threshold ? weights * dropout_factors(plan, q.dtype()) : weights;
  return {weighted_sum(dropped, v, hides), weights};
}

Derivatives formula_backward(const AttentionPlan& plan, const Tensor& q, const Tensor& keys,
                             const Tensor& values, const Tensor& dout) {
  const Tensor k = spread(plan, keys), v = spread(plan, values);
  const Tensor hides = hidden(plan), hides_back = hides.defined() ? transpose(hides) : Tensor();
  const Tensor p = attention_weights(plan, q, k, plan.bias, hides);
  Tensor dropped = p, dp = pair_products(dout, v, hides);
  if (plan.dropout.threshold) {
    const Tensor z = dropout_factors(plan, q.dtype());
    dropped = p * z, dp = dp * z;
  }
  const Tensor dv = gather(plan, weighted_sum(transpose(dropped), dout, hides_back));
  const Tensor ds = p * (dp - sum(p * dp, {-1}, true));
  const Tensor dq = weighted_sum(ds, k, hides) * plan.scale;
  const Tensor dk = gather(plan, weighted_sum(transpose(ds), q, hides_back)) * plan.scale;
  return {dq, dk, dv};
}

}  // namespace gradus::formula
