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
  all.push_back({"matmul", {"matmul", "[2, 3]", "3"}, [] { matmul(x(), values({2, 3})); }});
  all.push_back({"matmul", {"matmul", "[2, 3]", "[4, 5]"}, [] { matmul(x(), values({4, 5})); }});
  all.push_back({"matmul", {"matmul", "f64", "f32"}, [] {
                   matmul(x(), values({3, 2}).to(Dtype::f32));
                 }});
  const Tensor number = to(tensor(0.5), Dtype::f64);
  all.push_back({"matmul", {"matmul", "scalar"}, [=] { matmul(number, x()); }});
  all.push_back({"matmul", {"matmul", "scalar"}, [=] { matmul(x(), number); }});
  all.push_back({"matmul", {"[2, 5]", "3"}, [] { matmul(values({3}), values({2, 5})); }});
  all.push_back({"linear", {"linear", "[2, 3]", "5"}, [] { linear(x(), values({5, 2})); }});
  all.push_back({"linear", {"linear", "[3]", "[5, 3]"}, [] {
                   linear(x(), values({5, 3}), values({3}));
                 }});
  all.push_back({"linear", {"linear", "f64", "f32"}, [] {
                   linear(x(), to(values({5, 3}), Dtype::f32));
                 }});
  all.push_back({"linear", {"linear", "f32", "f64"}, [] {
                   linear(x(), values({5, 3}), to(values({5}), Dtype::f32));
                 }});
}

void add_norms(Mistakes& all) {
  all.push_back({"softmax", {"softmax", "-2", "2"}, [] { softmax(x(), 2); }});
  all.push_back({"log_softmax", {"log_softmax", "f32", "f64"}, [] {
                   log_softmax(indices({1, 2}));
                 }});
  all.push_back(
      {"layer_norm", {"layer_norm", "[2, 3]", "[2]"}, [] { layer_norm(x(), values({2})); }});
  all.push_back({"layer_norm", {"layer_norm", "-1"}, [] { layer_norm(x(), {}, {}, -1); }});
  all.push_back({"rms_norm", {"rms_norm", "[2, 3]", "[2]"}, [] { rms_norm(x(), values({2})); }});
  const auto batch = [](const Tensor& in, std::int64_t channels, bool training) {
    batch_norm(in, {}, {}, zeros({channels}, Dtype::f64), ones({channels}, Dtype::f64), training);
  };
  all.push_back({"batch_norm", {"batch_norm", "[1, 3]"}, [=] { batch(values({1, 3}), 3, true); }});
  all.push_back({"batch_norm", {"batch_norm", "[2, 3]", "[2]"}, [=] {
                   batch(values({2, 3}), 2, false);
                 }});
  all.push_back({"dropout", {"dropout", "1", "0"}, [] { dropout(x(), 1); }});
}

void add_batch_norm(Mistakes& all) {
  const auto train = [](const Tensor& in, const BatchNormRates& rates) {
    return [=] { batch_norm(in, {}, {}, {}, {}, true, rates); };
  };
  all.push_back({"batch_norm", {"batch_norm", "undefined"}, train(Tensor(), {})});
  all.push_back({"batch_norm", {"batch_norm", "-0.5"}, train(values({2, 3}), {.eps = -0.5})});
  all.push_back(
      {"batch_norm", {"batch_norm", "[0, 1]", "-0.5"}, train(values({2, 3}), {.momentum = -0.5})});
  all.push_back({"batch_norm", {"batch_norm", "[2, 3]", "[2]"}, [] {
                   batch_norm(values({2, 3}), {}, values({2}), {}, {}, true);
                 }});
  all.push_back({"batch_norm", {"batch_norm", "running_mean", "running_var"}, [] {
                   batch_norm(values({2, 3}), {}, {}, values({3}), {}, false);
                 }});
}

/// Adds invalid calls with arguments that all losses check.
void add_loss_arguments(Mistakes& all) {
  const Tensor one = tensor(0.5), target = tensor(std::vector<std::int64_t>{0}, {});
  all.push_back({"cross_entropy", {"cross_entropy", "[]"}, [=] { cross_entropy(one, target); }});
  all.push_back({"cross_entropy", {"cross_entropy", "-1e-60", "label_smoothing"}, [] {
                   cross_entropy(x(), indices({0, 2}), {.label_smoothing = -1e-60});
                 }});
  all.push_back({"cross_entropy_soft", {"[]", "[..., V]"}, [=] { cross_entropy_soft(one, one); }});
  all.push_back({"mse_loss", {"mse_loss", "undefined"}, [] { mse_loss(Tensor(), x()); }});
  all.push_back({"mse_loss", {"mse_loss", "f32", "f64"}, [] {
                   mse_loss(indices({1, 2}), indices({1, 2}));
                 }});
  for (const double delta : {HUGE_VAL, std::nan("")})
    all.push_back({"huber_loss", {"positive"}, [=] { huber_loss(x(), x(), delta); }});
}

void add_losses(Mistakes& all) {
  const Tensor target = indices({0, 2});
  all.push_back({"cross_entropy", {"cross_entropy", "[1]", "ignore_index"}, [=] {
                   cross_entropy(x(), indices({0, 3}));
                 }});
  all.push_back({"cross_entropy", {"f64", "cross_entropy_soft"}, [] { cross_entropy(x(), x()); }});
  all.push_back(
      {"cross_entropy", {"cross_entropy", "[2, 7, 5]", "[2, 5]"}, [] {
         cross_entropy(values({2, 7, 5}), indices({0, 1, 2, 3, 4, 0, 1, 2, 3, 4}).view({2, 5}));
       }});
  all.push_back({"cross_entropy", {"cross_entropy", "label_smoothing", "1"}, [=] {
                   cross_entropy(x(), target, {.label_smoothing = 1});
                 }});
  all.push_back({"cross_entropy", {"cross_entropy", "[2, 3]", "[2]"}, [=] {
                   cross_entropy(x(), target, {.weight = values({2})});
                 }});
  all.push_back({"nll_loss", {"nll_loss", "[2, 3]", "[3]"}, [=] {
                   nll_loss(x(), indices({0, 1, 2}));
                 }});
  all.push_back({"cross_entropy_soft", {"cross_entropy_soft", "[2, 3]", "[3, 2]"}, [] {
                   cross_entropy_soft(x(), values({3, 2}));
                 }});
  all.push_back({"mse_loss", {"mse_loss", "[2, 3]", "[2]"}, [] { mse_loss(x(), values({2})); }});
  all.push_back({"l1_loss", {"l1_loss", "[2, 3]", "[2]"}, [] { l1_loss(x(), values({2})); }});
  all.push_back({"huber_loss", {"huber_loss", "0"}, [] { huber_loss(x(), x(), 0); }});
  all.push_back({"bce_with_logits", {"bce_with_logits", "[2, 3]", "[2]"}, [] {
                   bce_with_logits(x(), values({2}));
                 }});
  all.push_back({"kl_div", {"kl_div", "[2, 3]", "[2]"}, [] { kl_div(x(), values({2})); }});
}

void add_attention(Mistakes& all) {
  const auto q = [] { return values({1, 2, 3, 4}); };
  all.push_back(
      {"scaled_dot_product_attention", {"attention", "[1, 2, 3, 4]", "[1, 2, 5, 3]"}, [=] {
         scaled_dot_product_attention(q(), values({1, 2, 5, 3}), values({1, 2, 5, 3}));
       }});
  all.push_back({"scaled_dot_product_attention", {"1", "3"}, [=] {
                   scaled_dot_product_attention(q(), values({3, 2, 5, 4}), values({3, 2, 5, 4}));
                 }});
  all.push_back({"scaled_dot_product_attention", {"2", "1"}, [=] {
                   scaled_dot_product_attention(q(), q(), values({1, 1, 3, 4}));
                 }});
  all.push_back({"scaled_dot_product_attention", {"padding_mask", "2", "1"}, [=] {
                   scaled_dot_product_attention(q(), q(), q(), padding_mask({3, 3}));
                 }});
  all.push_back({"scaled_dot_product_attention", {"attention", "[1, 4, 3, 2]", "[1, 3, 3, 2]"}, [] {
                   const Tensor k = values({1, 3, 3, 2});
                   scaled_dot_product_attention(values({1, 4, 3, 2}), k, k);
                 }});
  all.push_back({"attention_with_weights", {"attention", "[1, 2, 3, 4]", "[1, 2, 5, 4]"}, [=] {
                   attention_with_weights(q(), q(), values({1, 2, 5, 4}));
                 }});
  all.push_back({"split_heads", {"split_heads", "[2, 3, 6]", "4"}, [] {
                   split_heads(values({2, 3, 6}), 4);
                 }});
  all.push_back({"merge_heads", {"merge_heads", "[2, 3]"}, [] { merge_heads(values({2, 3})); }});
  all.push_back({"packed_self_attention", {"attention", "3"}, [] {
                   packed_self_attention(values({1, 3, 10}), 2, {});
                 }});
}

void add_derivatives(Mistakes& all) {
  const auto f = [](const std::vector<Tensor>& in) { return in[0] * in[0]; };
  all.push_back({"vjp", {"vjp", "[2, 3]"}, [=] { vjp(f, {x()}); }});
  all.push_back({"jvp", {"jvp", "0", "1"}, [=] { jvp(f, {x()}, {}); }});
  all.push_back({"hessian_vector_product", {"[2, 3]", "sum()"}, [=] {
                   hessian_vector_product(f, {x()}, {x()});
                 }});
}

void add_more_products(Mistakes& all) {
  const auto add = [&](const char* name, std::vector<std::string> nouns, auto f) {
    nouns.push_back(name);
    all.push_back({name, nouns, f});
  };
  add("matmul", {"[2, 3]", "[5, 3]", "transpose"}, [] { matmul(x(), values({5, 3})); });
  add("matmul", {"[2]", "[5]"}, [] { matmul(values({2, 3, 4}), values({5, 4, 3})); });
  add("matmul", {"f32", "f64"}, [] { matmul(ones({1, 1}, Dtype::i64), ones({1, 1}, Dtype::i64)); });
  add("matmul", {"undefined"}, [] { matmul(Tensor(), x()); });
  add("matmul", {"undefined"}, [] { matmul(x(), Tensor()); });
  add("linear", {"[3, 2]", "[5, 3]", "transpose(x)"}, [] {
    linear(values({3, 2}), values({5, 3}));
  });
  add("linear", {"[1, 5]"}, [] { linear(x(), values({5, 3}), values({1, 5})); });
  add("linear", {"[3]"}, [] { linear(x(), values({3})); });
  add("linear", {"[5, 3]"}, [] { linear(values({}), values({5, 3})); });
  add("linear", {"undefined"}, [] { linear(Tensor(), x()); });
  add("linear", {"undefined"}, [] { linear(x(), Tensor()); });
  for (const double p : {-0.1, std::nan("")}) add("dropout", {"0", "1"}, [=] { dropout(x(), p); });
  add("dropout", {"i64"}, [] { dropout(arange(3), 0.5); });
  add("dropout", {"undefined"}, [] { dropout(Tensor(), 0.5); });
}

void add_more_norms(Mistakes& all) {
  const auto add = [&](const char* name, std::vector<std::string> nouns, auto f) {
    nouns.push_back(name);
    all.push_back({name, nouns, f});
  };
  const Tensor v = values({3}), wide = values({4}), f32 = to(v, Dtype::f32);
  add("softmax", {"i64"}, [] { softmax(arange(3)); });
  add("softmax", {"1"}, [] { softmax(values({}), 1); });
  add("softmax", {"undefined"}, [] { softmax(Tensor()); });
  add("log_softmax", {"-3"}, [] { log_softmax(x(), -3); });
  add("log_softmax", {"undefined"}, [] { log_softmax(Tensor()); });
  add("layer_norm", {"bias", "[4]"}, [=] { layer_norm(x(), v, wide); });
  add("layer_norm", {"f32", "f64"}, [=] { layer_norm(x(), v, f32); });
  add("layer_norm", {"[]"}, [] { layer_norm(values({})); });
  add("layer_norm", {"i64"}, [] { layer_norm(arange(3)); });
  add("layer_norm", {"undefined"}, [] { layer_norm(Tensor()); });
  add("rms_norm", {"f32", "f64"}, [=] { rms_norm(x(), f32); });
  add("rms_norm", {"i64"}, [] { rms_norm(arange(3)); });
  add("rms_norm", {"eps"}, [=] { rms_norm(x(), v, std::nan("")); });
  add("rms_norm", {"undefined"}, [] { rms_norm(Tensor()); });
  const auto batch = [](const Tensor& in, const Tensor& weight, const Tensor& mean,
                        const Tensor& var) {
    return [=] { batch_norm(in, weight, {}, mean, var, true); };
  };
  add("batch_norm", {"[2, 3]", "[4]"}, batch(x(), wide, {}, {}));
  add("batch_norm", {"[3]", "[N, C, L]"}, batch(v, v, {}, {}));
  add("batch_norm", {"running_mean", "[4]"}, batch(x(), v, wide, v));
  add("batch_norm", {"running_var", "f32"}, batch(x(), v, v, f32));
  add("batch_norm", {"1.5"}, [] { batch_norm(x(), {}, {}, {}, {}, true, {.momentum = 1.5}); });
}

void add_more_losses(Mistakes& all) {
  const auto cross = [&](std::vector<std::string> nouns, const Tensor& a, const Tensor& target,
                         const CrossEntropyOptions& options) {
    nouns.emplace_back("cross_entropy");
    all.push_back({"cross_entropy", nouns, [=] { cross_entropy(a, target, options); }});
  };
  const Tensor ids = indices({0, 1});
  cross({"i64"}, ids, ids, {});
  cross({"undefined"}, Tensor(), ids, {});
  cross({"undefined"}, x(), Tensor(), {});
  cross({"-1", "[1]"}, x(), indices({0, -1}), {});
  cross({"f32", "f64"}, x(), ids, {.weight = ones({3}, Dtype::f32)});
  using Pair = void (*)(const Tensor&, const Tensor&);
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, Pair>>{
           {"mse_loss", [](const Tensor&a, const Tensor&b) { mse_loss(a, b); }},
           {"l1_loss", [](const Tensor&a, const Tensor&b) { l1_loss(a, b); }},
           {"bce_with_logits", [](const Tensor&a, const Tensor&b) { bce_with_logits(a, b); }},
           {"kl_div", [](const Tensor&a, const Tensor&b) { kl_div(a, b); }},
           {"huber_loss", [](const Tensor&a, const Tensor&b) { huber_loss(a, b, 1); }},
           {"cross_entropy_soft",
            [](const Tensor&a, const Tensor&b) { cross_entropy_soft(a, b); }}}) {
    all.push_back({name, {name, "[2, 3]", "[4]"}, [f = f] { f(x(), values({4})); }});
    all.push_back({name, {name, "f32", "f64"}, [f = f] { f(x(), to(x(), Dtype::f32)); }});
    all.push_back({name, {name, "undefined"}, [f = f] { f(x(), Tensor()); }});
  }
}

void add_more_attention(Mistakes& all) {
  const Tensor q = values({2, 3, 5, 4}), k = values({2, 3, 7, 4}), v = values({2, 3, 7, 6}),
               flat = values({2, 5, 4});
  const auto attend = [&](const std::vector<std::string>& nouns, const Tensor& a, const Tensor& b,
                          const Tensor& c, const Mask& mask = {},
                          const AttentionOptions& options = {}) {
    all.push_back({"scaled_dot_product_attention", nouns,
                   [=] { scaled_dot_product_attention(a, b, c, mask, options); }});
  };
  attend({"attention", "[2, 3, 5, 4]", "[2, 3, 7, 5]"}, q, values({2, 3, 7, 5}), v);
  attend({"[2, 3, 8, 6]"}, q, k, values({2, 3, 8, 6}));
  attend({"1", "3"}, q, values({2, 1, 7, 4}), v);
  attend({"0"}, q, values({2, 0, 7, 4}), values({2, 0, 7, 4}));
  attend({"2", "1"}, q, k, values({1, 3, 7, 6}));
  attend({"[2, 5, 4]", "heads"}, flat, k, v);
  attend({"[2, 5, 4]", "heads"}, q, flat, v);
  attend({"[2, 5, 4]", "heads"}, q, k, flat);
  attend({"undefined"}, q, k, Tensor());
  attend({"undefined"}, Tensor(), k, v);
  attend({"attention", "f32", "f64"}, q, to(k, Dtype::f32), v);
  attend({"attention", "f32", "f64"}, q, k, to(v, Dtype::f32));
  const Tensor i64_values = ones({1, 1, 1, 1}, Dtype::i64);
  attend({"f32", "f64"}, i64_values, i64_values, i64_values);
  attend({"1"}, q, k, v, padding_mask({3}));
  attend({"8", "7"}, q, k, v, padding_mask({3, 8}));
  attend({"[2, 3, 5, 7]"}, q, k, v, dense_mask(ones({5, 5}, Dtype::bool_)));
  attend({"bias", "[2, 5]"}, q, k, v, {}, {.bias = values({2, 5})});
  attend({"bias"}, q, k, v, {}, {.bias = values({1, 2, 3, 5, 7})});
  attend({"f32", "f64"}, q, k, v, {}, {.bias = ones({5, 7}, Dtype::f32)});
  for (const double p : {1.0, 1.5, -0.1})  // rejected even if dropout is off
    attend({"attention", "dropout"}, q, k, v, {}, {.dropout = p, .training = p != 1.5});
  const auto packed = [&](const std::vector<std::string>& nouns, const Tensor& a,
                          std::int64_t heads, const Mask& mask = {}) {
    all.push_back({"packed_self_attention", nouns, [=] { packed_self_attention(a, heads, mask); }});
  };
  const Tensor qkv = values({2, 5, 12});
  packed({"[2, 5, 12]"}, qkv, 3);
  packed({"0"}, qkv, 0);
  packed({"[5, 12]"}, values({5, 12}), 2);
  packed({"undefined"}, Tensor(), 2);
  packed({"1"}, qkv, 2, padding_mask({5}));
  packed({"f32", "f64"}, ones({2, 5, 12}, Dtype::i64), 2);
  for (const std::int64_t heads : {5, 0, -1, -3, 24})
    all.push_back({"split_heads", {"split_heads", "[2, 5, 12]", std::to_string(heads)}, [=] {
                     split_heads(qkv, heads);
                   }});
  for (const Shape& shape : {Shape{5, 12}, Shape{1, 2, 5, 12}})
    all.push_back(
        {"split_heads", {"split_heads", to_string(shape)}, [=] { split_heads(values(shape), 3); }});
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
  add_more_products(all);
  add_more_norms(all);
  add_more_losses(all);
  add_more_attention(all);
  add_derivatives(all);
  return all;
}

}  // namespace gradus::testing
