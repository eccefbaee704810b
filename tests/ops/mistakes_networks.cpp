// What products, norms, losses, attention and dropout refuse.
#include <cmath>
#include <vector>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/batch_norm.h"
#include "gradus/ops/create.h"
#include "gradus/ops/derivatives.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/support/mistakes.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

Tensor x() { return values({2, 3}); }

void add_products(Mistakes& all) {
  all.push_back({"matmul", "matmul: [2, 3] x [2, 3]: inner sizes 3 and 2 differ; did you mean", [] {
                   matmul(x(), values({2, 3}));
                 }});
  all.push_back(
      {"matmul", "matmul: [2, 3] x [4, 5]: inner sizes 3 and 4 differ: the last axis of the", [] {
         matmul(x(), values({4, 5}));
       }});
  all.push_back(
      {"matmul", "matmul: the operands are f64 and f32: convert one with to(x, dtype)", [] {
         matmul(x(), values({3, 2}).to(Dtype::f32));
       }});
  const Tensor number = to(tensor(0.5), Dtype::f64);
  const char* no_matrix = ": a single number is no matrix; multiply with *";
  all.push_back({"matmul", no_matrix, [=] { matmul(number, x()); }});
  all.push_back({"matmul", no_matrix, [=] { matmul(x(), number); }});
  all.push_back({"matmul", "x [2, 5]: inner sizes 3 and 2 differ", [] {
                   matmul(values({3}), values({2, 5}));
                 }});
  all.push_back(
      {"linear", "linear: the input [2, 3] does not end in the weight's input size: [5,", [] {
         linear(x(), values({5, 2}));
       }});
  all.push_back({"linear", "linear: the bias has shape [3] where the weight [5, 3] wants [5]", [] {
                   linear(x(), values({5, 3}), values({3}));
                 }});
  all.push_back({"linear", "linear: the input is f64 but the weight f32: convert one", [] {
                   linear(x(), to(values({5, 3}), Dtype::f32));
                 }});
  all.push_back({"linear", "linear: the bias is f32 but the input f64", [] {
                   linear(x(), values({5, 3}), to(values({5}), Dtype::f32));
                 }});
}

void add_norms(Mistakes& all) {
  all.push_back({"softmax", "softmax: axis 2 of a tensor with 2 axes: give -2 to 1",
                 [] { softmax(x(), 2); }});
  all.push_back(
      {"log_softmax", "log_softmax: wants f32 or f64, not i64: convert with to(x, Dtype::f32)", [] {
         log_softmax(indices({1, 2}));
       }});
  all.push_back({"layer_norm",
                 "layer_norm: x [2, 3] with weight [2]: it must have the size of x's last",
                 [] { layer_norm(x(), values({2})); }});
  all.push_back({"layer_norm", "layer_norm: eps is -1, but must not be negative",
                 [] { layer_norm(x(), {}, {}, -1); }});
  all.push_back({"rms_norm",
                 "rms_norm: x [2, 3] with weight [2]: it must have the size of x's last",
                 [] { rms_norm(x(), values({2})); }});
  const auto batch = [](const Tensor& in, std::int64_t channels, bool training) {
    batch_norm(in, {}, {}, zeros({channels}, Dtype::f64), ones({channels}, Dtype::f64), training);
  };
  all.push_back(
      {"batch_norm", "batch_norm: x [1, 3] has one value a channel, which has no variance:", [=] {
         batch(values({1, 3}), 3, true);
       }});
  all.push_back({"batch_norm",
                 "batch_norm: x [2, 3] with running_mean [2]: it must have the size of x's", [=] {
                   batch(values({2, 3}), 2, false);
                 }});
  all.push_back({"dropout", "dropout: p is 1, but must be in [0, 1)", [] { dropout(x(), 1); }});
}

void add_batch_norm(Mistakes& all) {
  const auto train = [](const Tensor& in, const BatchNormRates& rates) {
    return [=] { batch_norm(in, {}, {}, {}, {}, true, rates); };
  };
  all.push_back({"batch_norm", "batch_norm: the tensor is undefined", train(Tensor(), {})});
  all.push_back({"batch_norm", "batch_norm: eps is -0.5, but must not be negative",
                 train(values({2, 3}), {.eps = -0.5})});
  all.push_back({"batch_norm", "batch_norm: momentum is -0.5, but must be in [0, 1]",
                 train(values({2, 3}), {.momentum = -0.5})});
  all.push_back({"batch_norm",
                 "batch_norm: x [2, 3] with bias [2]: it must have the size of x's channels", [] {
                   batch_norm(values({2, 3}), {}, values({2}), {}, {}, true);
                 }});
  all.push_back({"batch_norm", "batch_norm: evaluation needs running_mean and running_var", [] {
                   batch_norm(values({2, 3}), {}, {}, values({3}), {}, false);
                 }});
}

/// What the losses ask of both tensors, and of their options.
void add_loss_arguments(Mistakes& all) {
  const Tensor one = tensor(0.5), target = tensor(std::vector<std::int64_t>{0}, {});
  all.push_back({"cross_entropy", "cross_entropy: the input [] has no axis of classes",
                 [=] { cross_entropy(one, target); }});
  all.push_back(
      {"cross_entropy", "cross_entropy: label_smoothing is -1e-60, but must be in [0, 1)", [] {
         cross_entropy(x(), indices({0, 2}), {.label_smoothing = -1e-60});
       }});
  all.push_back({"cross_entropy_soft", "[] must have an axis of classes: [..., V]",
                 [=] { cross_entropy_soft(one, one); }});
  all.push_back({"mse_loss", "mse_loss: the input is undefined", [] { mse_loss(Tensor(), x()); }});
  all.push_back({"mse_loss", "mse_loss: wants both f32 or both f64, not i64 with target i64", [] {
                   mse_loss(indices({1, 2}), indices({1, 2}));
                 }});
  for (const double delta : {HUGE_VAL, std::nan("")})
    all.push_back({"huber_loss", "but must be positive", [=] { huber_loss(x(), x(), delta); }});
}

void add_losses(Mistakes& all) {
  const Tensor target = indices({0, 2});
  all.push_back({"cross_entropy",
                 "cross_entropy: target 3 at [1] is not a class in [0, 3), nor ignore_index,", [=] {
                   cross_entropy(x(), indices({0, 3}));
                 }});
  all.push_back({"cross_entropy", "not f64 with f64: cross_entropy_soft takes probabilities",
                 [] { cross_entropy(x(), x()); }});
  all.push_back(
      {"cross_entropy",
       "cross_entropy: input [2, 7, 5] with target [2, 5]: the target must be [2, 7], one class "
       "for each row: the last axis of the input is that of classes",
       [] {
         cross_entropy(values({2, 7, 5}), indices({0, 1, 2, 3, 4, 0, 1, 2, 3, 4}).view({2, 5}));
       }});
  all.push_back({"cross_entropy", "cross_entropy: label_smoothing is 1, but must be in [0, 1)",
                 [=] { cross_entropy(x(), target, {.label_smoothing = 1}); }});
  all.push_back({"cross_entropy",
                 "cross_entropy: input [2, 3] with class weights [2]: there must be one for",
                 [=] { cross_entropy(x(), target, {.weight = values({2})}); }});
  all.push_back(
      {"nll_loss", "nll_loss: input [2, 3] with target [3]: the target must be [2], one", [=] {
         nll_loss(x(), indices({0, 1, 2}));
       }});
  all.push_back(
      {"cross_entropy_soft",
       "cross_entropy_soft: the input is [2, 3] but the target [3, 2]: they must be equal;", [] {
         cross_entropy_soft(x(), values({3, 2}));
       }});
  all.push_back({"mse_loss",
                 "mse_loss: the input is [2, 3] but the target [2]: they must be equal; reshape(),",
                 [] { mse_loss(x(), values({2})); }});
  all.push_back({"l1_loss",
                 "l1_loss: the input is [2, 3] but the target [2]: they must be equal; reshape(),",
                 [] { l1_loss(x(), values({2})); }});
  all.push_back({"huber_loss", "huber_loss: delta is 0, but must be positive",
                 [] { huber_loss(x(), x(), 0); }});
  all.push_back(
      {"bce_with_logits",
       "bce_with_logits: the input is [2, 3] but the target [2]: they must be equal; reshape(),",
       [] { bce_with_logits(x(), values({2})); }});
  all.push_back({"kl_div",
                 "kl_div: the input is [2, 3] but the target [2]: they must be equal; reshape(),",
                 [] { kl_div(x(), values({2})); }});
}

void add_attention(Mistakes& all) {
  const auto q = [] { return values({1, 2, 3, 4}); };
  all.push_back({"scaled_dot_product_attention",
                 "attention: q [1, 2, 3, 4], k [1, 2, 5, 3] and v [1, 2, 5, 3] do not fit: q is 4 "
                 "wide and k 3",
                 [=] {
                   scaled_dot_product_attention(q(), values({1, 2, 5, 3}), values({1, 2, 5, 3}));
                 }});
  all.push_back(
      {"scaled_dot_product_attention", "do not fit: batches of 1, 3 and 3 differ: wants [B,", [=] {
         scaled_dot_product_attention(q(), values({3, 2, 5, 4}), values({3, 2, 5, 4}));
       }});
  all.push_back(
      {"scaled_dot_product_attention", "do not fit: k has 2 heads and v 1: wants [B,", [=] {
         scaled_dot_product_attention(q(), q(), values({1, 1, 3, 4}));
       }});
  all.push_back({"scaled_dot_product_attention", "padding_mask: 2 lengths for a batch of 1", [=] {
                   scaled_dot_product_attention(q(), q(), q(), padding_mask({3, 3}));
                 }});
  all.push_back({"scaled_dot_product_attention",
                 "attention: 4 heads of q [1, 4, 3, 2] cannot share the 3 heads of k [1, 3, 3, 2]",
                 [] {
                   const Tensor k = values({1, 3, 3, 2});
                   scaled_dot_product_attention(values({1, 4, 3, 2}), k, k);
                 }});
  all.push_back({"attention_with_weights",
                 "attention: q [1, 2, 3, 4], k [1, 2, 3, 4] and v [1, 2, 5, 4] do not fit: k has 3 "
                 "positions and v 5",
                 [=] {
                   attention_with_weights(q(), q(), values({1, 2, 5, 4}));
                 }});
  all.push_back(
      {"split_heads", "split_heads: [2, 3, 6] with 4 heads: wants [batch, length, width]", [] {
         split_heads(values({2, 3, 6}), 4);
       }});
  all.push_back({"merge_heads", "merge_heads: wants [batch, heads, length, width], not [2, 3]", [] {
                   merge_heads(values({2, 3}));
                 }});
  all.push_back({"packed_self_attention",
                 "attention: packed projections must be [batch, length, 3 · heads ·", [] {
                   packed_self_attention(values({1, 3, 10}), 2, {});
                 }});
}

void add_derivatives(Mistakes& all) {
  const auto f = [](const std::vector<Tensor>& in) { return in[0] * in[0]; };
  all.push_back({"vjp", "vjp: the function gives [2, 3], not one number", [=] { vjp(f, {x()}); }});
  all.push_back({"jvp", "jvp: 0 tangents for 1 inputs: one each", [=] { jvp(f, {x()}, {}); }});
  all.push_back({"hessian_vector_product", "the function gives [2, 3], not one number: sum()",
                 [=] { hessian_vector_product(f, {x()}, {x()}); }});
}

}  // namespace

Mistakes network_mistakes() {
  Mistakes all;
  add_products(all);
  add_norms(all);
  add_batch_norm(all);
  add_losses(all);
  add_loss_arguments(all);
  add_attention(all);
  add_derivatives(all);
  return all;
}

}  // namespace gradus::testing
