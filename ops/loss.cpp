// Losses composed of differentiable ops. cross_entropy has its own kernel in cross_entropy.cpp.
#include "gradus/ops/loss.h"

#include <cmath>
#include <limits>

#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/softmax.h"

namespace gradus {
namespace {

void check_targets(const char* name, const Tensor& x, const Tensor& target) {
  check_defined(name, x, target);
  require<DtypeError>(is_float(x.dtype()) && x.dtype() == target.dtype(), name,
                      ": input and target must both be f32 or both f64, got ", x.dtype(), " and ",
                      target.dtype(), ". Convert one with to(x, dtype).");
  require<ShapeError>(x.shape() == target.shape(), name, ": the input is ", x.shape(),
                      " but the target is ", target.shape(),
                      ". Make them equal with reshape(), or with expand() to repeat values.");
}

Tensor reduced(const Tensor& each, Reduction reduction) {
  if (reduction == Reduction::none) return each;
  return reduction == Reduction::sum ? sum(each) : mean(each);
}

}  // namespace

Tensor cross_entropy_soft(const Tensor& logits, const Tensor& probabilities, Reduction reduction) {
  check_targets("cross_entropy_soft", logits, probabilities);
  require<ShapeError>(logits.rank() >= 1,
                      "cross_entropy_soft: logits and probabilities must have a class axis "
                      "([..., V]), got []");
  const Tensor log_p = log_softmax(logits);
  // For a masked class with probability 0, 0 · −∞ counts as 0.
  const Tensor neither = logical_and(equal(probabilities, 0.0),
                                     equal(log_p, -std::numeric_limits<double>::infinity()));
  const Tensor each = -sum(probabilities * masked_fill(log_p, neither, 0), {-1});
  return reduced(each, reduction);
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  check_targets("mse_loss", x, target);
  return reduced(square(x - target), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  check_targets("l1_loss", x, target);
  return reduced(abs(x - target), reduction);
}

/// With q = d clamped to [−delta, delta], both cases of the loss equal q (d − q/2).
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta, Reduction reduction) {
  check_targets("huber_loss", x, target);
  require<ValueError>(delta > 0 && std::isfinite(delta),
                      "huber_loss: delta must be positive and finite, got ", delta);
  const Tensor d = x - target;
  const Tensor q = clamp(d, -delta, delta);
  return reduced(q * (d - q * 0.5), reduction);
}

/// −log σ(x) = softplus(−x) and −log(1 − σ(x)) = softplus(x) are accurate in both tails.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, Reduction reduction) {
  check_targets("bce_with_logits", x, target);
  return reduced(target * softplus(-x) + (1 - target) * softplus(x), reduction);
}

Tensor kl_div(const Tensor& log_q, const Tensor& target, Reduction reduction) {
  check_targets("kl_div", log_q, target);
  const Tensor zero = equal(target, 0.0);
  const Tensor log_t = log(masked_fill(target, zero, 1));
  const Tensor each = target * (log_t - log_q);
  return reduced(masked_fill(each, zero, 0), reduction);
}

}  // namespace gradus
